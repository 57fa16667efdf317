"""The schema of records and sequels."""

import re
from collections.abc import Sequence
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tsim.toolkit import tokens

SPLITS = ("s1", "s2")
DOMAINS = (
    "CS-Software",
    "Network-Hardware",
    "Finance",
    "Legal",
    "Biomed",
    "Engineering",
    "Biz-Ops",
    "Social-Personal",
    "Game-Novel",
    "Daily-Life",
)
LETTERS = ("A", "B", "C", "D")
CELL = 150

Letter = Literal["A", "B", "C", "D"]
StressLabel = Literal["state_overwrite", "long_range_bridge", "constraint_trap"]
ID = re.compile(r"(?P<split>[^:]+):(?P<domain>.+)-(?P<number>\d{3,})")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class DialogueTurn(_Strict):
    """One turn of a record's dialogue."""

    role: Literal["user", "model"]
    content: str = Field(min_length=1)


class Options(_Strict):
    """The four options."""

    A: str = Field(min_length=1)
    B: str = Field(min_length=1)
    C: str = Field(min_length=1)
    D: str = Field(min_length=1)

    def as_list(self) -> list[str]:
        """Returns the options in order."""
        return [self.A, self.B, self.C, self.D]


class Stress(_Strict):
    """Labels for what makes a record hard."""

    labels: list[StressLabel] = Field(min_length=1)
    primary: StressLabel


class Record(_Strict):
    """A dialogue in which a local rule becomes binding, and a request that depends on it.

    Attributes:
        id: `split:Domain-NNN`.
        split: The split, one of two.
        domain: The domain, one of ten.
        dialogue: Alternating turns, the user first.
        question: An ordinary request for a decision.
        options: The four options.
        answer: The letter of the only correct option.
        evidence: Indices of the smallest set of turns that determines the answer.
        reasoning: Which local fact applies, and why the answer follows from it.
        stress: Labels for what makes the record hard.
    """

    id: str
    split: str
    domain: str
    dialogue: list[DialogueTurn] = Field(min_length=1)
    question: str = Field(min_length=1)
    options: Options
    answer: Letter
    evidence: list[int] = Field(min_length=1)
    reasoning: str = Field(min_length=1)
    stress: Stress

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        match = ID.fullmatch(self.id)
        if not match:
            raise ValueError(f"id {self.id!r} is not split:Domain-NNN")
        if (match["split"], match["domain"]) != (self.split, self.domain):
            raise ValueError(f"id {self.id!r} does not name {self.split} and {self.domain}")
        _alternate(self.dialogue)
        _ascending("evidence", self.evidence, len(self.dialogue))
        if len({option.strip().lower() for option in self.options.as_list()}) != len(LETTERS):
            raise ValueError("two options are the same")
        if self.stress.primary not in self.stress.labels:
            raise ValueError("the primary stress label is not among the labels")
        return self

    @property
    def cell(self) -> str:
        """The split and domain, as `split:domain`."""
        return f"{self.split}:{self.domain}"

    @property
    def evidence_turns(self) -> list[str]:
        """The texts of the evidence turns."""
        return [self.dialogue[index].content for index in self.evidence]

    @property
    def text(self) -> str:
        """The dialogue as one text."""
        return _joined(self.dialogue)

    @property
    def tokens(self) -> int:
        """The length of the dialogue in benchmark tokens."""
        return tokens.from_words(sum(len(turn.content.split()) for turn in self.dialogue))

    def option(self, letter: str) -> str:
        """Returns the option with the given letter."""
        return self.options.as_list()[LETTERS.index(letter)]


class Sequel(_Strict):
    """A later dialogue after which another option of a record is the only correct one.

    Attributes:
        id: The record's id.
        named: Whether it mentions the name used in the record's question.
        dialogue: Three to six alternating turns, the user first.
        answer: The letter that is correct after the sequel.
        evidence: Indices of the smallest set of its turns that states the change.
        keeps: Indices of the record's turns that are still needed.
        reasoning: What changed, and why the new answer follows.
    """

    id: str
    named: bool
    dialogue: list[DialogueTurn] = Field(min_length=3, max_length=6)
    answer: Letter
    evidence: list[int] = Field(min_length=1)
    keeps: list[int]
    reasoning: str = Field(min_length=1)

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        _alternate(self.dialogue)
        _ascending("evidence", self.evidence, len(self.dialogue))
        return self

    @property
    def evidence_turns(self) -> list[str]:
        """The texts that state the change."""
        return [self.dialogue[index].content for index in self.evidence]

    @property
    def text(self) -> str:
        """The dialogue as one text."""
        return _joined(self.dialogue)


def _alternate(dialogue: Sequence[DialogueTurn]) -> None:
    roles = [turn.role for turn in dialogue]
    if roles != [("user", "model")[n % 2] for n in range(len(roles))]:
        raise ValueError("roles do not alternate, starting with the user")


def _ascending(name: str, indices: list[int], turns: int) -> None:
    if indices != sorted(set(indices)):
        raise ValueError(f"{name} {indices} is not ascending")
    if not 0 <= indices[0] <= indices[-1] < turns:
        raise ValueError(f"{name} {indices} is outside the {turns} turns")


def _joined(dialogue: Sequence[DialogueTurn]) -> str:
    return "\n".join(turn.content for turn in dialogue)
