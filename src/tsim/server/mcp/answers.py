"""What the tools answer. A field without a value is left out."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.config import JsonDict

from tsim.assemble import excerpt
from tsim.excerpt import excerpt as beginning
from tsim.thread import Thread
from tsim.types import Hit, SpanWhy, Turn, Why

# Words and terms that an explanation names, heaviest first.
TOLD = 8


def _shorten(schema: JsonDict, kind: type[Any]) -> None:
    """Lists of tools name what answers have, not what their parts have. Docstrings are for us."""
    schema.pop("description", None)
    if not issubclass(kind, Answer):
        schema.pop("properties", None)
        schema.pop("required", None)


class Part(BaseModel):
    """A part of an answer, or of a request."""

    model_config = ConfigDict(frozen=True, json_schema_extra=_shorten)


class Answer(Part):
    """An answer of a tool."""

    def as_text(self) -> str:
        """Returns the answer for clients that read text alone."""
        return self.model_dump_json(exclude_none=True)


class Remembered(Answer):
    """Ids of the turns in order, and how many of them were there already."""

    turns: list[int]
    known: int


class Said(Part):
    """A turn; of a long one, the parts that matter."""

    id: int
    role: str
    text: str
    at: str | None = None


class Span(Part):
    """Turns that belong together, and the probability that they hold what was asked."""

    turns: list[Said]
    relevance: float | None = None


class Recalled(Answer):
    """What was found, best first."""

    spans: list[Span]


class Context(Answer):
    """Text for a prompt."""

    text: str
    tokens: int

    def as_text(self) -> str:
        """Returns the text alone."""
        return self.text


class Recent(Answer):
    """The last turns of a thread, in order, and how many it has."""

    turns: list[Said]
    total: int


class Forgetting(Answer):
    """What would be forgotten, with a token to confirm it; or what was forgotten.

    `erased` says whether the bytes are gone from the file, too.
    """

    forgotten: bool
    turns: list[int]
    lines: list[str] = []
    relevances: list[float] | None = None
    confirm: str | None = None
    erased: bool | None = None


class Reason(Part):
    """Why a span was chosen."""

    turns: list[int]
    why: str
    relevance: float | None = None
    words: dict[str, float] = {}
    terms: dict[str, float] = {}


class Near(Part):
    """What would come next."""

    turns: list[int]
    line: str
    relevance: float | None = None


class Explained(Answer):
    """Why spans were chosen, and what nearly was."""

    chosen: list[Reason]
    near: list[Near]


def said(turns: Iterable[Turn]) -> list[Said]:
    """Returns turns as they are shown."""
    return [
        Said(
            id=turn.id,
            role=turn.role,
            text=excerpt(turn),
            at=None if turn.at is None else _written(turn.at),
        )
        for turn in turns
    ]


def recent(thread: Thread, limit: int) -> Recent:
    """Returns the last turns of a thread."""
    return Recent(turns=said(thread.recent(limit)), total=len(thread))


def span(hit: Hit) -> Span:
    """Returns a hit as it is shown."""
    return Span(turns=said(hit.turns), relevance=_rounded(hit.relevance))


def reason(hit: Hit) -> Reason:
    """Returns why a hit was chosen."""
    return Reason(
        turns=[turn.id for turn in hit.turns],
        why=str(hit.why),
        relevance=_rounded(hit.relevance),
        words=_table(hit.why.words[:TOLD]) if isinstance(hit.why, SpanWhy) else {},
        terms=_table(_terms(hit.why)[:TOLD]),
    )


def near(hit: Hit) -> Near:
    """Returns a hit that was not chosen, with the turn that it would be chosen for."""
    anchor = hit.why.anchor if isinstance(hit.why, SpanWhy) else hit.turns[0].id
    shown = next((turn for turn in hit.turns if turn.id == anchor), hit.turns[0])
    return Near(
        turns=[turn.id for turn in hit.turns],
        line=f"{shown.role}: {beginning(shown.text)}",
        relevance=_rounded(hit.relevance),
    )


def _terms(why: Why | SpanWhy) -> Sequence[tuple[str, float]]:
    if isinstance(why, SpanWhy):
        return why.terms
    names = ("raw", "summary", "cluster", "expansion", "neighbour")
    return [(name, value) for name in names if (value := getattr(why, name))]


def _table(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in pairs}


def _rounded(relevance: float | None) -> float | None:
    return None if relevance is None else round(relevance, 3)


def _written(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
