"""The schema of records, and of what belongs to them: sequels, second wordings and asides."""

import re
from collections.abc import Sequence
from typing import Final, Literal, Self

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
# The domain of asides; it counts as the eleventh when letters are drawn.
ASIDE: Final = "Aside"
LETTERS = ("A", "B", "C", "D")
CELL = 150

Letter = Literal["A", "B", "C", "D"]
Kind = Literal[
    "preference",
    "person",
    "date",
    "place",
    "health",
    "work",
    "plan",
    "setup",
    "change",
    "possession",
]
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


class Case(_Strict):
    """A dialogue, and a later question whose answer depends on it: a record or an aside.

    Attributes:
        id: `split:Domain-NNN`.
        split: The split, one of two.
        domain: The domain.
        dialogue: Alternating turns, the user first.
        question: An ordinary request.
        options: The four options.
        answer: The letter of the only correct option.
        evidence: Indices of the smallest set of turns that determines the answer.
        reasoning: Which local fact applies, and why the answer follows from it.
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

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        match = ID.fullmatch(self.id)
        if not match:
            raise ValueError(f"id {self.id!r} is not split:Domain-NNN")
        if (match["split"], match["domain"]) != (self.split, self.domain):
            raise ValueError(f"id {self.id!r} does not name {self.split} and {self.domain}")
        _alternate(self.dialogue)
        _ascending("evidence", self.evidence, len(self.dialogue))
        if len({option.strip().lower() for option in self.options.as_list()}) != len(LETTERS):
            raise ValueError("two options are the same")
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

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels for what makes the question hard, the primary one first."""
        return ()

    def option(self, letter: str) -> str:
        """Returns the option with the given letter."""
        return self.options.as_list()[LETTERS.index(letter)]


class Record(Case):
    """A dialogue in which a local rule becomes binding, and a request that depends on it.

    Attributes:
        stress: Labels for what makes the record hard.
    """

    stress: Stress

    @model_validator(mode="after")
    def _is_labelled(self) -> Self:
        if self.stress.primary not in self.stress.labels:
            raise ValueError("the primary stress label is not among the labels")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The stress labels, the primary one first."""
        others = [label for label in self.stress.labels if label != self.stress.primary]
        return (self.stress.primary, *others)


class Aside(Case):
    """A fact that the user mentions in passing, and a later question that depends on it.

    Attributes:
        domain: Always `Aside`.
        evidence: The index of the user's turn that holds the fact.
        kind: What the fact is about.
        fact: The part of that turn that states the fact.
        inference: Whether the answer follows only by an everyday inference.
    """

    domain: Literal["Aside"] = ASIDE
    evidence: list[int] = Field(min_length=1, max_length=1)
    kind: Kind
    fact: str = Field(min_length=1)
    inference: bool

    @model_validator(mode="after")
    def _is_said_by_the_user(self) -> Self:
        turn = self.dialogue[self.evidence[0]]
        if turn.role != "user":
            raise ValueError(f"evidence {self.evidence} is not a turn of the user")
        if self.fact not in turn.content:
            raise ValueError("the fact is not a part of the evidence turn")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The kind of the fact, and whether it is asked for directly."""
        return self.kind, "inference" if self.inference else "restated"


class Wording(_Strict):
    """A record's question in other words, as people return to a matter.

    Attributes:
        id: The record's id.
        question: The same request without the names, numbers and rare words of the dialogue.
    """

    id: str
    question: str = Field(min_length=1)


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
