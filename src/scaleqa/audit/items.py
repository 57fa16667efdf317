"""What is audited: items, the form in which raters see them, and the plan that holds them.

A rater sees `Shown` and nothing else. Whatever else an item has (where it comes from, what is
known about it) stays in the plan, and so do ids: pages name items by their place in a rater's own
order.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from scaleqa.records.schema import Letter, StressLabel

VERSION = 1
OPTIONS = 4
POINTS = (1, 2, 3, 4, 5)
CUES: tuple[StressLabel, ...] = ("state_overwrite", "long_range_bridge", "constraint_trap")
# A dialogue with question and options, with a question alone, or alone.
Form = Literal["choice", "open", "chat"]
# What is audited; what has a known answer; what shows whether a rater reads.
Purpose = Literal["audit", "gold", "attention"]
Scale = Literal["naturalness", "answerability", "ambiguity", "plausibility"]
SCALES: tuple[Scale, ...] = ("naturalness", "answerability", "ambiguity", "plausibility")


class Filed(BaseModel):
    """What is read from files: exactly what was written."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ShownTurn(Filed):
    """A turn of a dialogue."""

    role: Literal["user", "model"]
    text: str = Field(min_length=1)


class Origin(Filed):
    """Where an item comes from; never shown to raters.

    Attributes:
        source: The name of the data set or corpus.
        ref: Its id there.
        domain: Domain, genre or type of question.
        split: The split, if there are several.
        stress: Stress labels of the data set, the primary one first.
    """

    source: str = Field(min_length=1)
    ref: str = Field(min_length=1)
    domain: str = ""
    split: str = ""
    stress: tuple[str, ...] = ()


class Known(Filed):
    """What an attentive rater answers: to gold and attention items."""

    answer: Letter
    naturalness: Literal[1, 2, 3, 4, 5] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """All that a rater sees of an item."""

    form: Form
    dialogue: tuple[ShownTurn, ...]
    question: str | None
    options: tuple[str, ...]

    @property
    def scales(self) -> tuple[Scale, ...]:
        """The scales that apply: of a dialogue alone, only how natural it is."""
        return SCALES[:1] if self.form == "chat" else SCALES


class Item(Filed):
    """An item of an audit.

    Attributes:
        id: Drawn; of the same length for every source.
        form: How it is shown.
        purpose: What it is for.
        origin: Where it comes from.
        dialogue: Its turns.
        question: The question, if it is shown.
        options: The four options, if they are shown.
        answer: The letter that the data set holds for correct; what the audit asks about.
        known: For gold and attention items, what is certainly right.
    """

    id: str = Field(pattern=r"^[0-9a-f]{12}$")
    form: Form
    purpose: Purpose
    origin: Origin
    dialogue: tuple[ShownTurn, ...] = Field(min_length=1)
    question: str | None = None
    options: tuple[str, ...] = ()
    answer: Letter | None = None
    known: Known | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.question is None) != (self.form == "chat"):
            raise ValueError(f"an item of form {self.form} has a question or has none")
        if len(self.options) != (OPTIONS if self.form == "choice" else 0):
            raise ValueError(f"an item of form {self.form} has {len(self.options)} options")
        if (self.answer is not None) != (self.form == "choice"):
            raise ValueError(f"an item of form {self.form} has an answer or has none")
        if (self.known is not None) != (self.purpose != "audit"):
            raise ValueError(f"an item for {self.purpose} has a known answer or has none")
        return self

    @property
    def shown(self) -> Shown:
        """What a rater sees."""
        return Shown(
            form=self.form, dialogue=self.dialogue, question=self.question, options=self.options
        )

    @property
    def stratum(self) -> tuple[str, ...]:
        """What items of its kind have in common."""
        return self.form, self.origin.source, self.origin.domain, self.origin.split


class SourceFacts(Filed):
    """What was taken from a source.

    Attributes:
        source: Its name.
        sha256: Hash of what was read.
        candidates: How many items it had.
        drawn: How many were drawn.
        left_out: How many it had that could not be shown, by reason.
    """

    source: str
    sha256: str
    candidates: int
    drawn: int
    left_out: Mapping[str, int] = Field(default_factory=dict)


class Plan(Filed):
    """Which items are rated, by whom, in which order.

    Attributes:
        version: Of this form.
        seed: What everything was drawn with.
        per_item: How many raters rate an item.
        core: How many items all raters rate, besides gold and attention items.
        sources: Where items were taken from.
        items: All items, by id.
        orders: The ids for each rater, in the order they are shown.
    """

    version: Literal[1] = 1
    seed: int
    per_item: int = Field(ge=1)
    core: int = Field(ge=0)
    sources: tuple[SourceFacts, ...]
    items: tuple[Item, ...] = Field(min_length=1)
    orders: tuple[tuple[str, ...], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        ids = [item.id for item in self.items]
        if ids != sorted({*ids}):
            raise ValueError("items are not ordered by id, or one is there twice")
        for order in self.orders:
            if len({*order}) != len(order) or not {*order} <= {*ids}:
                raise ValueError("an order names an item twice, or one that is not there")
        return self

    @cached_property
    def by_id(self) -> dict[str, Item]:
        """The items by their ids."""
        return {item.id: item for item in self.items}

    @property
    def sha256(self) -> str:
        """A hash of the whole plan."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def item(self, rater: int, place: int) -> Item:
        """Returns what a rater sees at a place; both count from 1."""
        return self.by_id[self.orders[rater - 1][place - 1]]
