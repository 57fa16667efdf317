"""The lines of an export.

An export is a head, then for each thread its own line and those of its turns, passages,
sentences, episodes, spans and clusters, in this order, and an end that has the number and the hash
of all lines before it. Version 2 has external ids, meta and passages, version 3 sentences. A memory
without them is exported as an earlier version, which earlier versions of this package can import.
"""

import base64
import binascii
import json
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from tsim.state import MAX_ID
from tsim.types import Meta

Id = Annotated[int, Field(ge=0, le=MAX_ID)]
Version: TypeAlias = Literal[1, 2, 3]
NextId = Annotated[int, Field(ge=0, le=MAX_ID + 1)]


class Line(BaseModel):
    """What all lines have in common: no field more, no number as text."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Head(Line):
    """The first line."""

    kind: Literal["memory"] = "memory"
    format: Literal["tsim-memory"] = "tsim-memory"
    version: Version
    settings: dict[str, str]


class ThreadLine(Line):
    """The first line of a thread."""

    kind: Literal["thread"] = "thread"
    name: str
    next_turn: NextId
    next_episode: NextId
    next_cluster: NextId


class TurnLine(Line):
    """A turn."""

    kind: Literal["turn"] = "turn"
    id: Id
    episode: Id
    role: str
    at: float | None
    text: str
    vector: str
    external_id: str | None = None
    meta: Meta | None = None

    def dump(self) -> dict[str, Any]:
        """Returns the line, without an id and meta that the turn does not have."""
        absent = {name for name in ("external_id", "meta") if getattr(self, name) is None}
        return self.model_dump(exclude=absent)


class PassageLine(Line):
    """A further passage of a turn."""

    kind: Literal["passage"] = "passage"
    turn: Id
    start: int
    vector: str


class SentenceLine(Line):
    """A sentence of a turn."""

    kind: Literal["sentence"] = "sentence"
    turn: Id
    start: int
    vector: str


class EpisodeLine(Line):
    """An episode."""

    kind: Literal["episode"] = "episode"
    id: Id
    vector: str | None


class SpanLine(Line):
    """A run of turns that was embedded."""

    kind: Literal["span"] = "span"
    first: Id
    last: Id
    vector: str


class ClusterLine(Line):
    """A cluster of episodes."""

    kind: Literal["cluster"] = "cluster"
    id: Id
    members: list[Id]
    total: str
    vector: str


class End(Line):
    """The last line; an export without it is truncated."""

    kind: Literal["end"] = "end"
    lines: int
    sha256: str


Row: TypeAlias = TurnLine | PassageLine | SentenceLine | EpisodeLine | SpanLine | ClusterLine
AnyLine: TypeAlias = Head | ThreadLine | Row | End
ANY: TypeAdapter[AnyLine] = TypeAdapter(Annotated[AnyLine, Field(discriminator="kind")])
# The rows of a thread, in the order in which they are exported.
ROWS = (TurnLine, PassageLine, SentenceLine, EpisodeLine, SpanLine, ClusterLine)


def dump(line: dict[str, Any]) -> bytes:
    """Returns the bytes of a line."""
    return (json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n").encode()


def to_text(blob: bytes) -> str:
    """Encodes bytes as text."""
    return base64.b64encode(blob).decode()


def to_bytes(text: str, width: int) -> bytes:
    """Decodes bytes from text.

    Raises:
        ValueError: They are not base64, or not a whole number of values of some width.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error
    if len(data) % width:
        raise ValueError(f"{len(data)} bytes, not a multiple of {width}")
    return data
