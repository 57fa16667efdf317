"""Messages as chat APIs take them: those of OpenAI (chat and responses) and of Anthropic.

>>> chat = Chat(memory.thread("alice"))  # doctest: +SKIP
>>> chat.remember([{"role": "user", "content": "New projects run on one consumer GPU."}])
... # doctest: +SKIP
>>> question = {"role": "user", "content": "Which model should Halden start with?"}
>>> messages = [*chat.messages_for(question["content"]), question]  # doctest: +SKIP
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from tsim.adapters.keeping import is_made, keep, kept
from tsim.adapters.recall import Recall, Recalled
from tsim.adapters.shape import lift
from tsim.adapters.window import Said
from tsim.errors import InputError
from tsim.logs.fields import id_of, role_of, seconds_of
from tsim.types import MODEL_ROLES, USER_ROLE, NewTurn, Turn

Message: TypeAlias = Mapping[str, Any]

FORM = "message"
TOOL = "tool"
MODEL = "assistant"
# Who instructs a model; instructions are given anew with every request, and are not remembered.
INSTRUCTING = frozenset({"system", "developer"})
# What we read beside a message, and no API accepts in it.
OURS = ("at", "id")


class MessageCodec:
    """Messages of chat APIs as turns, and turns as such messages."""

    def __init__(self, *, ids: bool = True) -> None:
        """Takes `ids=False` where the ids of messages are not their own."""
        self._ids = ids

    def turn(self, message: Message) -> NewTurn | None:
        """Returns a message as a turn; None for instructions.

        Raises:
            InputError: It is no message.
        """
        if not isinstance(message, Mapping) or not ("role" in message or "type" in message):
            raise InputError(
                f'expected a message such as {{"role": "user", "content": "…"}}, found '
                f"{message!r:.80}"
            )
        role = _speaker(message)
        if role in INSTRUCTING:
            return None
        own = {k: v for k, v in message.items() if k not in OURS or "type" in message}
        at = None if message.get("at") is None else seconds_of(message["at"])
        name = id_of(message) if self._ids else None
        turn = NewTurn(role=role, text=str(own.get("content")), at=at, id=name)
        if own == _plain(turn.numbered(0)) and turn.text.strip():
            return turn
        return keep(own, turn, FORM, label=_label(message))

    def said(self, turn: Turn) -> Said[Message] | None:
        """Returns a turn as a message; what was added without an adapter as a message of text."""
        found = kept(turn, FORM)
        message = found if isinstance(found, dict) else _plain(turn)
        return None if message is None else describe(message, turn=turn.id)


class Chat(Recall[Message]):
    """A thread that remembers messages, and gives them back with what fits a question."""

    def __init__(self, thread: Any, **more: Any) -> None:
        """Takes a thread, and what `Recall` takes: `budget`, `latest_share`, `tokens`, `clock`."""
        super().__init__(thread, MessageCodec(), **more)

    def messages_for(
        self, question: str, budget: int | None = None, *, role: str = "system"
    ) -> list[Message]:
        """Returns messages for a chat API: what was found for a question, then the latest ones.

        The question itself is not among them.

        Args:
            question: What is asked now.
            budget: Maximum number of tokens of all messages; that of the chat by default.
            role: The role of the message with what was found: `system`, `developer` or `user`. For
                APIs that take instructions apart, use `show`.
        """
        return _messages(self.show(question, budget), role)

    async def amessages_for(
        self, question: str, budget: int | None = None, *, role: str = "system"
    ) -> list[Message]:
        """Returns what `messages_for` does."""
        return _messages(await self.ashow(question, budget), role)


def describe(message: Message, *, turn: int | None = None) -> Said[Message]:
    """Returns a message with what a window has to know about it.

    Args:
        message: A message of OpenAI's or Anthropic's API.
        turn: The number of the turn that it is stored as, if known.
    """
    results = frozenset(_results(message))
    return Said(
        message=message,
        text=lift(dict(message))[0],
        turn=turn,
        calls=frozenset(_calls(message)),
        results=results,
        opens=message.get("role") == USER_ROLE and not results,
        leads=message.get("type") == "reasoning",
    )


def question_of(messages: Iterable[Message]) -> str | None:
    """Returns the text of the last message in which a user speaks; None if there is none."""
    for message in reversed([*messages]):
        if describe(message).opens:
            return lift({"content": message.get("content")})[0]
    return None


def _messages(recalled: Recalled[Message], role: str) -> list[Message]:
    found = [{"role": role, "content": recalled.text}] if recalled.text else []
    return [*found, *recalled.messages]


def _speaker(message: Message) -> str:
    if any(_results(message)):
        return TOOL
    return role_of(message) if "role" in message else MODEL


def _plain(turn: Turn) -> Message | None:
    if turn.role in MODEL_ROLES:
        return None if is_made(turn) else {"role": MODEL, "content": turn.text}
    if turn.role == TOOL or turn.role in INSTRUCTING:
        return None
    return {"role": USER_ROLE, "content": turn.text}


def _calls(message: Message) -> Iterator[str]:
    match message:
        case {"type": "mcp_approval_request", "id": str(name)}:
            yield name
        case {"type": str(kind), "call_id": str(name)} if not kind.endswith("_output"):
            yield name
        case {"function_call": {"name": str(name)}}:
            yield name
    for call in _parts(message.get("tool_calls")):
        if isinstance(called := call.get("id"), str):
            yield called
    for part in _parts(message.get("content")):
        match part:
            case {"type": "tool_use", "id": str(name)}:
                yield name


def _results(message: Message) -> Iterator[str]:
    match message:
        case {"type": "mcp_approval_response", "approval_request_id": str(name)}:
            yield name
        case {"type": str(kind), "call_id": str(name)} if kind.endswith("_output"):
            yield name
        case {"type": "local_shell_call_output", "id": str(name)}:
            yield name
        case {"role": "tool", "tool_call_id": str(name)} | {"role": "function", "name": str(name)}:
            yield name
    for part in _parts(message.get("content")):
        match part:
            case {"type": "tool_result", "tool_use_id": str(name)}:
                yield name


def _parts(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _label(message: Message) -> str:
    """Returns what a message without words is called: the kinds of its parts."""
    kinds = [str(part.get("type")) for part in _parts(message.get("content"))]
    return ", ".join(kinds) or str(message.get("type") or "empty message")
