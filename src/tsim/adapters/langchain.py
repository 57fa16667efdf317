"""`TsimChatHistory`: a chat history of LangChain that remembers all and shows what fits.

Needs the extra `langgraph`.
"""

from collections.abc import Sequence
from typing import Any

from tsim.adapters.extras import require

require("langchain_core", extra="langgraph")

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)

from tsim.adapters.keeping import is_made, keep, kept
from tsim.adapters.protocol import AnyConversation
from tsim.adapters.recall import Recall, Recalled
from tsim.adapters.shape import strings
from tsim.adapters.window import Said
from tsim.types import MODEL_ROLES, USER_ROLE, NewTurn, Turn

FORM = "langchain"
ROLES = {"human": USER_ROLE, "ai": "assistant", "tool": "tool", "function": "tool"}


class MessageCodec:
    """LangChain's messages as turns, and turns as such messages."""

    def turn(self, message: BaseMessage) -> NewTurn | None:
        """Returns a message as a turn; None for instructions, which are not remembered."""
        if isinstance(message, SystemMessage):
            return None
        role = message.name if message.type == "human" and message.name else ROLES.get(message.type)
        turn = NewTurn(role=role or message.type, text=str(message.content))
        if message == self._plain(turn.numbered(0)) and turn.text.strip():
            return turn
        written = message_to_dict(message)
        filled = {name: value for name, value in written["data"].items() if value not in (None, {})}
        return keep({**written, "data": filled}, turn, FORM, label=message.type)

    def said(self, turn: Turn) -> Said[BaseMessage] | None:
        """Returns a turn as a message; what was added without an adapter as a message of text."""
        message = _read(kept(turn, FORM)) or self._plain(turn)
        if message is None:
            return None
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        results = [message.tool_call_id] if isinstance(message, ToolMessage) else []
        return Said(
            message=message,
            text="\n".join(strings([message.content, [call["args"] for call in calls]])),
            turn=turn.id,
            calls=frozenset(name for call in calls if (name := call["id"])),
            results=frozenset(results),
            opens=isinstance(message, HumanMessage),
        )

    def _plain(self, turn: Turn) -> BaseMessage | None:
        if turn.role in MODEL_ROLES:
            return None if is_made(turn) else AIMessage(turn.text)
        if turn.role in ("tool", "system", "developer"):
            return None
        return HumanMessage(turn.text)


class TsimChatHistory(BaseChatMessageHistory):
    """The messages of a thread, of which those are shown that fit a question and a budget.

    >>> history = TsimChatHistory(memory.thread("alice"))  # doctest: +SKIP
    >>> question = HumanMessage("Which model should we start with?")  # doctest: +SKIP
    >>> answer = model.invoke([*history.messages_for(question.text), question])  # doctest: +SKIP
    >>> history.add_messages([question, answer])  # doctest: +SKIP
    """

    def __init__(
        self, thread: AnyConversation, *, question: str | None = None, **more: Any
    ) -> None:
        """Shows a thread.

        Args:
            thread: A thread of a `Memory`, a `Client` or an `AsyncClient`.
            question: What `messages` is about, for chains that cannot say so themselves; None for
                the latest messages alone.
            more: What `tsim.adapters.recall.Recall` takes: `budget`, `latest_share`, `tokens`,
                `clock`.
        """
        self._recall = Recall[BaseMessage](thread, MessageCodec(), **more)
        self._question = question

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # they may be a property
        """The latest messages, after what was found for the question, if there is one."""
        return self.messages_for(self._question)

    async def aget_messages(self) -> list[BaseMessage]:
        """Returns what `messages` is."""
        return await self.amessages_for(self._question)

    def messages_for(self, question: str | None, budget: int | None = None) -> list[BaseMessage]:
        """Returns what was found for a question as a system message, and the latest messages."""
        return _messages(self._recall.show(question, budget))

    async def amessages_for(
        self, question: str | None, budget: int | None = None
    ) -> list[BaseMessage]:
        """Returns what `messages_for` does."""
        return _messages(await self._recall.ashow(question, budget))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Remembers messages."""
        self._recall.remember(messages)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Remembers messages."""
        await self._recall.aremember(messages)

    def clear(self) -> None:
        """Forgets all messages."""
        self._recall.clear()

    async def aclear(self) -> None:
        """Forgets all messages."""
        await self._recall.aclear()


def _read(written: Any) -> BaseMessage | None:
    try:
        return messages_from_dict([written])[0]
    except (KeyError, TypeError, ValueError):  # nothing, or what somebody else wrote
        return None


def _messages(recalled: Recalled[BaseMessage]) -> list[BaseMessage]:
    found = [SystemMessage(recalled.text)] if recalled.text else []
    return [*found, *recalled.messages]
