"""What goes between us and a child: one JSON object per line.

Requests have an `id`, which their reply repeats, and an `op`. Before it replies, a child may ask
for vectors, or for the next message of a chat, as often as it likes.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from scaleqa.errors import DataError

PROTOCOL = 1
# A line longer than this is no message: a child that writes without end would fill our memory.
MOST_BYTES = 1 << 26
# Of a chat's next message, unless a child says otherwise: what it asks for may be a long list.
MOST_TOKENS = 2000
QUOTED = 120
Whole = Annotated[int, Field(strict=True)]


class Message(BaseModel):
    """Something that a child says; fields of later versions are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Wanted(Message):
    """A child's request for vectors."""

    embed: tuple[str, ...]
    query: bool = False


class Said(Message):
    """A message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


class Chat(Message):
    """A child's request for the next message of a chat."""

    chat: Annotated[tuple[Said, ...], Field(min_length=1)]
    most_tokens: Annotated[int, Field(strict=True, ge=1)] = MOST_TOKENS
    response_format: dict[str, Any] | None = None


class Reply(Message):
    """What every reply has."""

    id: Whole
    error: str | None = None


class Hello(Reply):
    """Who the child is."""

    protocol: Whole
    name: Annotated[str, Field(min_length=1, max_length=200)]
    version: Annotated[str, Field(max_length=200)] = ""


class Result(Message):
    """Something found: turns by their ids, or else a text."""

    turns: tuple[Whole, ...] = ()
    text: str = ""
    score: Annotated[float, Field(allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _holds_something(self) -> "Result":
        if bool(self.turns) == bool(self.text):
            raise ValueError("a result has either turns or a text")
        return self


class Results(Reply):
    """What a search found, best first."""

    results: tuple[Result, ...]


ReplyT = TypeVar("ReplyT", bound=Reply)


def write(message: Mapping[str, Any]) -> bytes:
    """Writes a message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def vectors(rows: Sequence[Sequence[float]]) -> dict[str, Any]:
    """The answer to a request for vectors."""
    return {"vectors": rows}


def said(text: str, *, prompt_tokens: int, completion_tokens: int) -> dict[str, Any]:
    """The answer to a request for a message."""
    counted = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return {"said": text, **counted}


def read(line: bytes, kind: type[ReplyT], number: int) -> ReplyT | Wanted | Chat:
    """Reads a line: a reply to the request with a number, or a request for vectors or a message.

    Raises:
        DataError: It is none of these, or the child reports an error.
    """
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError(f"it wrote a line that is no JSON: {_quoted(line)}") from None
    if not isinstance(found, dict):
        raise DataError(f"it wrote {_quoted(line)}; expected a JSON object")
    try:
        if "embed" in found:
            return Wanted.model_validate(found)
        if "chat" in found:
            return Chat.model_validate(found)
        plain = Reply.model_validate(found)
        if plain.id != number:
            raise DataError(f"it answered request {plain.id}, and was asked {number}")
        if plain.error is not None:
            raise DataError(f"it reports: {plain.error[:2000]}")
        return kind.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise DataError(f"it wrote {_quoted(line)}: {where}: {first['msg']}") from None


def _quoted(line: bytes) -> str:
    text = line[: 4 * QUOTED].decode("utf-8", "replace").rstrip()
    return repr(text if len(text) <= QUOTED else f"{text[:QUOTED]}…")
