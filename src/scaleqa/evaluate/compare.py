"""Two systems on the same questions."""

from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.errors import DataError
from scaleqa.evaluate.rows import Row
from scaleqa.stats import Difference, mcnemar, paired_bootstrap

SEED = 7
MEASURES = ("correct", "hit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One measure of two systems.

    Attributes:
        measure: `correct` or `hit`.
        first: The first system's share.
        second: The second's.
        difference: First less second, with its paired interval.
        mcnemar_p: Exact two-sided p-value.
    """

    measure: str
    first: float
    second: float
    difference: Difference
    mcnemar_p: float


def compare(rows: Sequence[Row], first: str, second: str) -> tuple[int, list[Compared]]:
    """Compares two systems on the questions both were asked.

    Returns:
        The number of questions, and a comparison a measure.

    Raises:
        DataError: One of them has no rows, or they share no question.
    """
    names = sorted({row["run"]["system"] for row in rows})
    sides = []
    for name in (first, second):
        own = {row["id"]: row for row in rows if row["run"]["system"] == name}
        if not own:
            raise DataError(f"no rows of {name!r}; there are {', '.join(names)}")
        sides.append(own)
    ids = sorted({*sides[0]} & {*sides[1]})
    if not ids:
        raise DataError(f"{first} and {second} have no question in common")
    found = []
    for measure in MEASURES:
        one, two = ([bool(side[i][measure]) for i in ids] for side in sides)
        found.append(
            Compared(
                measure=measure,
                first=sum(one) / len(ids),
                second=sum(two) / len(ids),
                difference=paired_bootstrap(one, two, seed=SEED),
                mcnemar_p=mcnemar(one, two),
            )
        )
    return len(ids), found
