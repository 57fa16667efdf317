"""Relevance: does a system know how likely it found what was asked?"""

from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.evaluate.rows import Row
from scaleqa.stats import auroc, calibration_error, exact_error

SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """What a system's relevances are worth.

    Attributes:
        questions: Number of questions, present and absent.
        calibration_error: Expected calibration error, in ten bins of equal count: the relevance
            against whether all evidence is in the context, which it never is for absent matters.
        exact_error: What this error would be on average if the relevances were exactly right.
        auroc: How often a present matter has a higher relevance than an absent one; None if
            questions of one kind are missing.
    """

    questions: int
    calibration_error: float
    exact_error: float
    auroc: float | None


def relevance(rows: Sequence[Row]) -> Relevance | None:
    """Computes what relevances are worth; None if the system does not give one for each question.

    Where nothing was returned and the system gives relevances otherwise, the relevance is 0.
    """
    if all(row.relevance is None for row in rows):
        return None
    given = [0.0 if row.relevance is None and row.silent else row.relevance for row in rows]
    known = [value for value in given if value is not None]
    if len(known) < len(rows):
        return None
    there = [value for value, row in zip(known, rows, strict=True) if row.present]
    absent = [value for value, row in zip(known, rows, strict=True) if not row.present]
    return Relevance(
        questions=len(rows),
        calibration_error=calibration_error(known, [row.hit for row in rows]),
        exact_error=exact_error(known, seed=SEED),
        auroc=auroc(there, absent) if there and absent else None,
    )
