"""Which messages of a request stay as they are, and which a memory may stand in for.

    system, developer        kept, and sent first
    older messages           may be replaced by what a memory finds for the newest question
    recent messages          kept: the last few, from where a user speaks

Recent messages begin with a user's, so that no result of a tool is torn from its call and every
model takes what is left for a conversation.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

USER, ASSISTANT = "user", "assistant"
# What whoever wrote the program says, rather than whoever talks.
INSTRUCTING = ("system", "developer")
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
    leads = [instructs(one) for one in messages]
    spoken = [place for place, lead in enumerate(leads) if not lead]
    begin = _speaking(users, min([*users[-1:], *spoken[-recent:], len(messages)]))
    needed = _needed(messages)
    while begin and needed[begin] < begin:
        begin = _speaking(users, needed[begin])
    before = range(begin)
    return History(
        lead=tuple(place for place in before if leads[place]),
        older=tuple(place for place in before if not leads[place]),
        recent=tuple(range(begin, len(messages))),
        asked=users[-1] if users else None,
        question=question_of(messages[users[-1]]) if users else "",
    )


def instructs(message: Message) -> bool:
    """Returns whether a message is of whoever wrote the program."""
    return message.get("role") in INSTRUCTING


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


def _speaking(users: Sequence[int], place: int) -> int:
    """Returns where a user speaks last, up to a place; else the beginning."""
    there = bisect_right(users, place)
    return users[there - 1] if there else 0


def _needed(messages: Sequence[Message]) -> list[int]:
    """Returns, for each place, the first message that it and those after it need.

    The result of a tool needs its call, without which no model takes it.
    """
    calls: dict[str, int] = {}
    needed = list(range(len(messages)))
    for place, message in enumerate(messages):
        if "tool_call_id" in message:
            needed[place] = calls.get(str(message["tool_call_id"]), place)
        if "tool_calls" in message:
            calls |= dict.fromkeys(calls_of(message), place)
    return [*accumulate(reversed(needed), min)][::-1]
