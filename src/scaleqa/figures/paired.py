"""Two systems on the same questions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scaleqa.errors import DataError
from scaleqa.evaluate.rows import Row
from scaleqa.figures.groups import same_thread
from scaleqa.figures.judging import accuracies
from scaleqa.figures.presence import one_track
from scaleqa.figures.scores import counts
from scaleqa.stats import Difference, mcnemar, paired_bootstrap

SEED = 7
# What may be compared: each measure of a row that has it.
MEASURES: Mapping[str, Callable[[Row], bool]] = {
    "correct": lambda row: bool(row.answered and row.answered.correct),
    "hit": lambda row: row.hit,
    "recalled": lambda row: row.recalled,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One measure of two systems.

    Attributes:
        measure: `correct`, `hit` or `recalled`.
        first: The first system's share.
        second: The second's.
        difference: First less second, with its paired interval.
        mcnemar_p: Exact two-sided p-value.
        judges: The difference by judge, of those who graded all these answers; None for what
            nobody judges.
    """

    measure: str
    first: float
    second: float
    difference: Difference
    mcnemar_p: float
    judges: dict[str, float] | None = None


def compare(rows: Sequence[Row], first: str, second: str) -> tuple[int, list[Compared]]:
    """Compares two systems on the questions both were asked and whose evidence is in the thread.

    Answers are compared where language models gave them, units where nobody answered, evidence
    where both show turns.

    Returns:
        The number of questions, and a comparison for each measure.

    Raises:
        DataError: One of them has no rows, has two for a question, they share no question, or
            their rows are about different threads or of several tracks.
    """
    one_track(row for row in rows if row.run.system in (first, second))
    sides = [_own(rows, name) for name in (first, second)]
    ids = sorted(name for name in {*sides[0]} & {*sides[1]} if sides[0][name].present)
    if not ids:
        raise DataError(f"{first} and {second} have no question in common")
    pairs = [(sides[0][i], sides[1][i]) for i in ids]
    for one, two in pairs:
        same_thread(one, two)
    answered = all(counts(row) for pair in pairs for row in pair)
    alone = all(row.run.reader is None for pair in pairs for row in pair)
    judged = not any(row.rewritten for pair in pairs for row in pair)
    wanted = {"hit": judged, "correct": answered, "recalled": alone and judged}
    return len(ids), [compared(measure, pairs) for measure in MEASURES if wanted[measure]]


def compared(measure: str, pairs: Sequence[tuple[Row, Row]]) -> Compared:
    """Compares one measure of paired rows."""
    read = MEASURES[measure]
    one, two = [read(a) for a, _ in pairs], [read(b) for _, b in pairs]
    return Compared(
        measure=measure,
        first=sum(one) / len(one),
        second=sum(two) / len(two),
        difference=paired_bootstrap(one, two, seed=SEED),
        mcnemar_p=mcnemar(one, two),
        judges=_by_judge(pairs) if measure == "correct" else None,
    )


def _by_judge(pairs: Sequence[tuple[Row, Row]]) -> dict[str, float]:
    first, second = accuracies([a for a, _ in pairs]), accuracies([b for _, b in pairs])
    return {name: first[name] - second[name] for name in first if name in second}


def _own(rows: Sequence[Row], name: str) -> dict[str, Row]:
    own: dict[str, Row] = {}
    for row in rows:
        if row.run.system == name:
            if row.id in own:
                raise DataError(
                    f"{name} has two rows for {row.id}; name a directory that holds one length, "
                    "backend and prompt"
                )
            own[row.id] = row
    if not own:
        names = sorted({row.run.system for row in rows})
        raise DataError(f"no rows of {name!r}; there are {', '.join(names)}")
    return own
