"""What models are asked to reply: one JSON object, read strictly."""

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from scaleqa.records.schema import DialogueTurn, Letter, Stress

MOST_CHARACTERS = 100_000
Flag = Literal["ambiguous", "unsupported", "contrived"]
ReplyT = TypeVar("ReplyT", bound=BaseModel)


class MalformedError(Exception):
    """A reply that is not what was asked for; the message says why."""


class GivenUpError(Exception):
    """A reply that says that an item cannot be finished; the message says why."""


class _Reply(BaseModel):
    # Further fields are thoughts, and do no harm.
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, str_strip_whitespace=True)


class Scenario(_Reply):
    """A situation."""

    scenario: str = Field(min_length=20, max_length=4000)


class Asked(_Reply):
    """A question with its options, in the order of the letters."""

    question: str = Field(min_length=10, max_length=1000)
    options: list[str] = Field(min_length=4, max_length=4)


class Told(_Reply):
    """A dialogue that decides a question."""

    dialogue: list[DialogueTurn] = Field(min_length=1, max_length=40)
    evidence: list[int] = Field(min_length=1, max_length=10)
    reasoning: str = Field(min_length=1, max_length=2000)
    stress: Stress


class ToldInPassing(_Reply):
    """A dialogue in which a fact is mentioned."""

    dialogue: list[DialogueTurn] = Field(min_length=1, max_length=40)
    evidence: list[int] = Field(min_length=1, max_length=1)
    fact: str = Field(min_length=1)
    reasoning: str = Field(min_length=1, max_length=2000)


class Turn(_Reply):
    """A turn as models like to write it."""

    role: str
    content: str


class Realised(_Reply):
    """A dialogue and its question, written together."""

    dialogue: list[Turn] = Field(min_length=1, max_length=40)
    question: str = Field(min_length=10, max_length=1000)
    options: list[str] = Field(min_length=4, max_length=4)
    right: int = Field(ge=1, le=4)
    evidence: list[int] = Field(min_length=1, max_length=10)
    reasoning: str = Field(min_length=1, max_length=2000)
    stress: Stress


class Options(_Reply):
    """Four options in the order of the letters."""

    options: list[str] = Field(min_length=4, max_length=4)


class Checked(_Reply):
    """What a writer finds wrong with its own work."""

    problems: list[str] = Field(max_length=20)


class Worded(_Reply):
    """A question in other words."""

    question: str = Field(min_length=10, max_length=1000)


class Continued(_Reply):
    """A later dialogue that changes an answer."""

    dialogue: list[DialogueTurn] = Field(min_length=3, max_length=6)
    evidence: list[int] = Field(min_length=1, max_length=6)
    keeps: list[int] = Field(max_length=40)
    reasoning: str = Field(min_length=1, max_length=2000)


class OpenReading(_Reply):
    """A reader's choice with the dialogue."""

    answer: Letter
    second: Letter | None = None
    evidence: list[int] = Field(default=[], max_length=40)
    flags: list[Flag] = []
    note: str = Field(default="", max_length=2000)


class ClosedReading(_Reply):
    """A reader's choice without the dialogue."""

    answer: Letter


class Picked(_Reply):
    """The dialogue that a reader thinks a question is about, counted from one."""

    pick: int
    also: list[int] = []
    sure: bool = True


def read_reply(text: str, model: type[ReplyT]) -> ReplyT:
    """Reads a reply: one JSON object, with or without a fence around it.

    Raises:
        MalformedError: It is something else.
        GivenUpError: It is `{"drop": REASON}`.
    """
    if len(text) > MOST_CHARACTERS:
        raise MalformedError(f"the reply has {len(text):,} characters; expected one JSON object")
    found = _object(text)
    try:
        return model.model_validate_json(found)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        said = problem["msg"].removeprefix("Value error, ")
        raise MalformedError(f"{where}: {said}" if where else said) from None


def _object(text: str) -> str:
    """Returns the object in a reply; nothing but a fence or a sentence may be around it."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        raise MalformedError("the reply holds no JSON object; was the request refused?")
    inner = text[start : end + 1] if end > start else text[start:]
    try:
        found: Any = from_json(inner)
    except ValueError as error:
        raise MalformedError(f"the reply is no whole JSON object: {error}") from None
    if not isinstance(found, dict):
        raise MalformedError("the reply is not one JSON object")
    if [*found] == ["drop"]:
        raise GivenUpError(str(found["drop"])[:500])
    return inner
