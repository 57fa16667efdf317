"""Which messages of a request stay as they are, and which a memory may stand in for.

    system, developer        kept, and sent first
    older messages           may be replaced by what a memory finds for the newest question
    recent messages          kept: the last few, from where a user speaks

Recent messages begin with a user's, so that no result of a tool is torn from its call and every
model takes what is left for a conversation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

USER, ASSISTANT = "user", "assistant"
# What whoever wrote the program says, rather than whoever talks.
INSTRUCTING = frozenset({"system", "developer"})
# Characters of a question, from its beginning and from its end: documents are pasted around it.
QUESTION = 8_000

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The messages of a request by their places.

    Attributes:
        lead: Instructions before the recent messages.
        older: What may be replaced.
        recent: What is kept.
        asked: The newest message of a user; None if there is none.
        question: Its text, which may be empty.
    """

    lead: tuple[int, ...]
    older: tuple[int, ...]
    recent: tuple[int, ...]
    asked: int | None
    question: str


def divide(messages: Sequence[Message], recent: int) -> History:
    """Divides the messages of a request.

    Args:
        messages: The messages.
        recent: How many are kept at least, without instructions.
    """
    users = [place for place, one in enumerate(messages) if one.get("role") == USER]
    spoken = [place for place, one in enumerate(messages) if not instructs(one)]
    latest = min(*users[-1:], *spoken[-recent:], len(messages))
    begin = max((place for place in users if place <= latest), default=0)
    while torn(messages, begin):
        begin = max((place for place in users if place < begin), default=0)
    before = range(begin)
    return History(
        lead=tuple(place for place in before if instructs(messages[place])),
        older=tuple(place for place in before if not instructs(messages[place])),
        recent=tuple(range(begin, len(messages))),
        asked=users[-1] if users else None,
        question=question_of(messages[users[-1]]) if users else "",
    )


def instructs(message: Message) -> bool:
    """Returns whether a message is of whoever wrote the program."""
    return message.get("role") in INSTRUCTING


def torn(messages: Sequence[Message], begin: int) -> bool:
    """Returns whether a result of a tool would be kept without its call."""
    if not begin:
        return False
    called = {name for one in messages[:begin] for name in calls_of(one)}
    there = {name for one in messages[begin:] for name in calls_of(one)}
    results = (one.get("tool_call_id") for one in messages[begin:])
    return any(name in called and name not in there for name in results)


def calls_of(message: Message) -> list[str]:
    """Returns the ids of the tool calls in a message."""
    calls = message.get("tool_calls")
    found = (
        [one.get("id") for one in calls if isinstance(one, dict)] if isinstance(calls, list) else []
    )
    return [name for name in found if isinstance(name, str)]


def text_of(message: Message) -> str:
    """Returns the text of a message, its parts on lines of their own."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = (one.get("text") if isinstance(one, dict) else one for one in parts)
    refusal = message.get("refusal")
    return "\n".join(one for one in (*texts, refusal) if isinstance(one, str) and one)


def question_of(message: Message) -> str:
    """Returns what is asked; the middle of what is too long for a question is left out."""
    text = text_of(message).strip()
    if len(text) <= 2 * QUESTION:
        return text
    return f"{text[:QUESTION]}\n{text[-QUESTION:]}"
