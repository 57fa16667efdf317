"""Parsers for the published formats of chat corpora.

Each parser takes one item (a line, or an element of a JSON list) and yields dialogues. It may raise
on unexpected input, which the caller counts as malformed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

USER = frozenset({"user", "human", "prompter", "USER"})


@dataclass(frozen=True, slots=True)
class Malformed:
    """An item that could not be read."""

    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A dialogue as in its source: pairs of role (user or model) and text, in order.

    Raises:
        TypeError: A text is something else.
    """

    turns: tuple[tuple[str, str], ...]
    genre: str = "chat"
    stale: bool = False

    def __post_init__(self) -> None:
        """Checks the texts: parsers take them as they are."""
        for _, text in self.turns:
            if not isinstance(text, str):
                raise TypeError(f"expected text, found {text!r:.80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A corpus format.

    Attributes:
        name: The name that users write.
        lines: Whether each line is an item; otherwise the file is one JSON list.
        parse: Parses an item into dialogues.
        about: A short description.
    """

    name: str
    lines: bool
    parse: Callable[[Any], Iterator[Raw]]
    about: str


def _role(name: str) -> str:
    return "user" if name in USER else "model"


def _alternating(texts: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(texts, list):
        raise TypeError("the texts are not a list")
    return tuple((("user", "model")[n % 2], text) for n, text in enumerate(texts))


def _authored(item: dict[str, Any]) -> Iterator[Raw]:
    yield Raw(
        turns=_alternating(item["turns"]),
        genre=str(item["genre"]),
        stale=bool(item.get("stale", False)),
    )


def _ultrachat(item: dict[str, Any]) -> Iterator[Raw]:
    """UltraChat: {"id", "data": [text, …]}; the 200k form has {"messages": [{role, content}]}."""
    if "messages" in item:
        yield from _messages(item["messages"])
    else:
        yield Raw(turns=_alternating(item["data"]))


def _wildchat(item: dict[str, Any]) -> Iterator[Raw]:
    """WildChat: {"conversation": [{role, content, language, …}], "language", "toxic", …}."""
    if item.get("toxic"):
        return
    yield from _messages(item["conversation"])


def _sharegpt(item: dict[str, Any]) -> Iterator[Raw]:
    """ShareGPT: {"conversations": [{"from", "value"}]}."""
    turns = tuple((_role(turn["from"]), turn["value"]) for turn in item["conversations"])
    yield Raw(turns=turns)


def _messages(messages: list[dict[str, Any]]) -> Iterator[Raw]:
    spoken = [m for m in messages if m["role"] != "system"]
    yield Raw(turns=tuple((_role(m["role"]), m["content"]) for m in spoken))


def _oasst(item: dict[str, Any]) -> Iterator[Raw]:
    """OpenAssistant trees: the best-ranked reply at each step; other languages are left out."""
    node = item["prompt"]
    turns = []
    while node is not None:
        turns.append((_role(node["role"]), node["text"]))
        replies = [reply for reply in node.get("replies", []) if not reply.get("deleted")]
        replies.sort(key=_by_rank)
        node = replies[0] if replies else None
    yield Raw(turns=tuple(turns), genre="assistant")


def _by_rank(reply: dict[str, Any]) -> tuple[bool, int, str]:
    rank = reply.get("rank")
    return rank is None, rank or 0, reply["message_id"]


def _sgd(item: dict[str, Any]) -> Iterator[Raw]:
    """Schema-Guided Dialogue, one per line: {"turns": [{"speaker", "utterance" or "text"}]}."""
    turns = tuple(
        (_role(turn["speaker"]), turn["utterance"] if "utterance" in turn else turn["text"])
        for turn in item["turns"]
    )
    yield Raw(turns=turns, genre="task")


def _longmemeval(item: dict[str, Any]) -> Iterator[Raw]:
    """LongMemEval: {"haystack_sessions": [[{role, content}, …], …]}; a session is a dialogue."""
    for session in item["haystack_sessions"]:
        yield from _messages(session)


FORMATS = {
    one.name: one
    for one in (
        Format(name="authored", lines=True, parse=_authored, about="our own pool"),
        Format(name="ultrachat", lines=True, parse=_ultrachat, about="UltraChat JSON lines"),
        Format(name="wildchat", lines=True, parse=_wildchat, about="WildChat JSON lines"),
        Format(name="sharegpt", lines=False, parse=_sharegpt, about="ShareGPT-style JSON"),
        Format(name="oasst", lines=True, parse=_oasst, about="OpenAssistant trees"),
        Format(name="sgd", lines=True, parse=_sgd, about="Schema-Guided Dialogue, flattened"),
        Format(name="longmemeval", lines=False, parse=_longmemeval, about="LongMemEval sessions"),
    )
}
