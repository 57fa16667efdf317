"""What raters say about items: which questions apply, and whether all of them are answered."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from scaleqa.audit.items import CUES, Filed, Item, Scale, Shown
from scaleqa.records.schema import Letter, StressLabel

# Characters of a comment.
MOST_COMMENT = 2_000
Point = Annotated[int, Field(ge=1, le=5)]
# No cue is there, so none is the strongest.
NONE = "none"


class Values(Filed):
    """What a rater says about an item; what is not asked, or not answered yet, is absent.

    Attributes:
        scales: Points by scale.
        answer: The chosen option.
        cues: The stress cues that the rater sees, in the order of `CUES`.
        primary: The strongest of them; `none` if there is none.
        comment: Free text, which need not be given.
    """

    scales: Mapping[Scale, Point] = Field(default_factory=dict)
    answer: Letter | None = None
    cues: tuple[StressLabel, ...] = ()
    primary: StressLabel | Literal["none"] | None = None
    comment: str = Field(default="", max_length=MOST_COMMENT)

    def missing(self, shown: Shown) -> list[str]:
        """Names the questions about an item that are not answered, in the order they are asked."""
        found = []
        if shown.options and self.answer is None:
            found.append("answer")
        found += [scale for scale in shown.scales if scale not in self.scales]
        if shown.question is not None and self.primary is None:
            found.append("primary")
        elif self.primary not in (None, NONE, *self.cues) or (self.primary == NONE and self.cues):
            found.append("cues")
        return found

    def only(self, shown: Shown) -> "Values":
        """The same without what is not asked about an item."""
        asked = shown.question is not None
        return Values(
            scales={name: self.scales[name] for name in shown.scales if name in self.scales},
            answer=self.answer if shown.options else None,
            cues=tuple(cue for cue in CUES if cue in self.cues) if asked else (),
            primary=self.primary if asked else None,
            comment=self.comment.strip(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The last word of a rater on an item.

    Attributes:
        rater: Their number, from 1.
        item: The item.
        values: What they said.
        seconds: How long the item was before them, if their browser said so.
    """

    rater: int
    item: Item
    values: Values
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Judgements as a table: items, raters, and who said what.

    Attributes:
        items: The items that somebody judged, by id.
        raters: The raters who judged any, in order.
        cells: Judgements by item and rater.
    """

    items: tuple[Item, ...]
    raters: tuple[int, ...]
    cells: Mapping[tuple[str, int], Judgement]

    @classmethod
    def of(cls, judgements: Iterable[Judgement]) -> "Sheet":
        """Makes the table."""
        cells = {(one.item.id, one.rater): one for one in judgements}
        items = {one.item.id: one.item for one in cells.values()}
        return cls(
            items=tuple(items[name] for name in sorted(items)),
            raters=tuple(sorted({rater for _, rater in cells})),
            cells=cells,
        )

    def about(self, item: Item) -> list[Judgement]:
        """All judgements of an item, by rater."""
        found = (self.cells.get((item.id, rater)) for rater in self.raters)
        return [one for one in found if one is not None]

    def by(self, rater: int) -> list[Judgement]:
        """All judgements of a rater, by item."""
        found = (self.cells.get((item.id, rater)) for item in self.items)
        return [one for one in found if one is not None]

    def only(self, items: Iterable[Item]) -> "Sheet":
        """The same table of fewer items."""
        kept = {item.id for item in items}
        return Sheet.of(one for (name, _), one in self.cells.items() if name in kept)

    def points(self, scale: Scale, raters: Sequence[int] | None = None) -> list[list[int | None]]:
        """Points of a scale: a row for each item, a column for each rater."""
        return [
            [one.values.scales.get(scale) if one else None for one in row]
            for row in self._rows(raters)
        ]

    def answers(self, raters: Sequence[int] | None = None) -> list[list[str | None]]:
        """Chosen options: a row for each item, a column for each rater."""
        return [[one.values.answer if one else None for one in row] for row in self._rows(raters)]

    def primaries(self, raters: Sequence[int] | None = None) -> list[list[str | None]]:
        """Primary cues: a row for each item, a column for each rater."""
        return [[one.values.primary if one else None for one in row] for row in self._rows(raters)]

    def sees(self, cue: str, raters: Sequence[int] | None = None) -> list[list[bool | None]]:
        """Whether raters see a cue; None where they were not asked."""
        return [
            [cue in one.values.cues if one and one.values.primary else None for one in row]
            for row in self._rows(raters)
        ]

    def _rows(self, raters: Sequence[int] | None) -> list[list[Judgement | None]]:
        columns = self.raters if raters is None else raters
        return [[self.cells.get((item.id, rater)) for rater in columns] for item in self.items]
