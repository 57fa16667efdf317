"""Questions whose matter never came up: their dialogues are left out of the thread."""

import random
from collections.abc import Sequence

from scaleqa.errors import DataError
from scaleqa.packages.package import Package
from scaleqa.records import Case

# The stress label of a question whose dialogue was left out.
ABSENT = "absent"


def left_out(cases: Sequence[Case], seed: int) -> frozenset[str]:
    """Chooses every second dialogue, half of each split and domain as far as possible.

    The choice depends on the ids and the seed alone, so it is the same for any wording of the
    questions.

    Raises:
        DataError: There are fewer than two dialogues, so one half would be empty.
    """
    if len(cases) < 2:
        raise DataError(
            "one of two dialogues is left out, and a thread has only one; choose more records or "
            "a longer target"
        )
    rng = random.Random(f"absent:{seed}")
    lots = {case.id: rng.random() for case in sorted(cases, key=lambda case: case.id)}
    ordered = sorted(cases, key=lambda case: (case.cell, lots[case.id]))
    return frozenset(case.id for case in ordered[rng.randrange(2) :: 2])


def check_halves(packages: Sequence[Package]) -> None:
    """Checks that questions are asked about dialogues of both halves.

    Raises:
        DataError: All that is asked about was left out, or nothing of it.
    """
    asked = [question for package in packages for question in package.questions]
    out = sum(ABSENT in question.stress for question in asked)
    if not 0 < out < len(asked):
        raise DataError(
            f"the dialogues of {out} of {len(asked)} questions are left out, so there is nothing "
            "to compare; choose more records or another --absent-seed"
        )
