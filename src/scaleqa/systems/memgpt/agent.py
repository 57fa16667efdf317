"""A model as controller: it calls functions step by step while it requests heartbeats."""

from scaleqa.backends import ChatModel, Message
from scaleqa.systems.memgpt.controller import STEPS
from scaleqa.systems.memgpt.functions import HEARTBEAT
from scaleqa.systems.memgpt.memory import Memory
from scaleqa.systems.memgpt.session import Session

SAY_TOKENS = 600
SYSTEM = """You manage the memory of a long conversation. Your context is limited: core memory is \
always in it, recent messages are until they are evicted, and everything else has to be looked up.
- Core memory has the blocks persona and human; keep them short and current.
- Recall storage holds every message; conversation_search finds messages by words.
- Archival storage holds the passages you inserted; archival_memory_search finds them by meaning.
Searches return pages; ask for the next page or search with other words if needed.
You act by calling functions. Set request_heartbeat to true to act again when a function has \
returned; without it your turn ends.

{head}

Recall storage: {messages} messages. Archival storage: {passages} passages."""
PRESSURE = (
    "System warning: memory pressure. The older recent messages will soon be evicted. The last "
    "{fresh} messages are new since the last warning. Save what will matter later: names, numbers, "
    "dates, rules, exceptions, wishes. Insert passages that can be understood alone into archival "
    "memory, and keep core memory current."
)
QUESTION = (
    "The user asks: {question}\nBring everything that decides the answer into the context by "
    "searching. Do not answer; when you have it, say DONE."
)


class AgentController:
    """Lets a chat model decide."""

    def __init__(self, model: ChatModel) -> None:
        """Takes the model."""
        self._model = model

    def pressure(self, memory: Memory, session: Session) -> None:
        """Lets the model save what matters."""
        fresh = len(memory.unseen())
        self._act(memory, session, PRESSURE.format(fresh=fresh))

    def question(self, memory: Memory, session: Session, question: str) -> None:
        """Lets the model search."""
        self._act(memory, session, QUESTION.format(question=question))

    def _act(self, memory: Memory, session: Session, event: str) -> None:
        """Runs one event in at most `STEPS` steps; an error is reported and allows another step."""
        system = SYSTEM.format(
            head=memory.head(), messages=len(memory.messages), passages=len(memory.passages)
        )
        chat = [
            Message(role="system", content=system),
            Message(role="user", content=f"{memory.recent()}\n\n{event}"),
        ]
        for _ in range(STEPS):
            said = self._model.chat(chat, session.functions, most_tokens=SAY_TOKENS)
            chat.append(Message(role="assistant", content=said.text, calls=said.calls))
            again = False
            for call in said.calls:
                result = session.call(call.name, call.arguments)
                chat.append(Message(role="tool", content=result.text, answers=call.id))
                again |= result.failed or call.arguments.get(HEARTBEAT) is True
            if not again:
                return
