"""Pure: which results belong in one table, in which order, and which cannot be told apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.evaluate.rows import Row
from scaleqa.figures.paired import Compared, compared
from scaleqa.leaderboard.checking import Checked
from scaleqa.leaderboard.files import Submission
from scaleqa.leaderboard.schema import Figure

# Two results are told apart if chance makes such a difference less often than this.
LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A result that was checked."""

    submission: Submission
    checked: Checked

    @property
    def figure(self) -> Figure:
        """What it is ranked by: strict accuracy, or in retrieval the share in context."""
        figures = self.submission.result.figures
        return figures.strict or figures.in_context


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An entry in its table.

    Attributes:
        entry: The entry.
        best: Whether it has the highest figure.
        against: It less the best, on the questions of both; None for the best, and where they
            share none.
    """

    entry: Entry
    best: bool
    against: Compared | None

    @property
    def told_apart(self) -> bool | None:
        """Whether it differs from the best; None where that cannot be said.

        Both must say so: the paired interval excludes zero, and McNemar's test rejects.
        """
        if self.against is None:
            return None
        low, high = self.against.difference.interval
        return not low <= 0 <= high and self.against.mcnemar_p < LEVEL


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Key:
    """What results share that stand in one table."""

    dataset: str
    splits: tuple[str, ...]
    track: str
    target: int
    answers: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A table: its lines from the highest figure to the lowest."""

    key: Key
    lines: tuple[Line, ...]


def boards(entries: Sequence[Entry]) -> list[Board]:
    """Puts results into tables."""
    found: dict[Key, list[Entry]] = {}
    for entry in entries:
        found.setdefault(_key(entry), []).append(entry)
    return [Board(key=key, lines=_lines(found[key])) for key in sorted(found)]


def _key(entry: Entry) -> Key:
    data = entry.submission.result.data
    return Key(
        dataset=data.dataset,
        splits=data.splits,
        track=data.track or "",
        target=-1 if data.target is None else data.target,
        answers=entry.submission.result.figures.strict is not None,
    )


def _lines(entries: Sequence[Entry]) -> tuple[Line, ...]:
    ranked = sorted(entries, key=lambda one: (-one.figure.value, one.submission.name))
    first, *others = ranked
    against = [_against(other, first) for other in others]
    return (
        Line(entry=first, best=True, against=None),
        *(Line(entry=o, best=False, against=a) for o, a in zip(others, against, strict=True)),
    )


def _against(entry: Entry, best: Entry) -> Compared | None:
    own, theirs = _present(entry), _present(best)
    pairs = [(row, theirs[key]) for key, row in own.items() if key in theirs]
    measure = "correct" if entry.submission.result.figures.strict else "hit"
    return compared(measure, pairs) if pairs else None


def _present(entry: Entry) -> dict[tuple[str | None, str], Row]:
    rows = entry.submission.rows
    return {(row.run.package_sha256, row.id): row for row in rows if row.present}
