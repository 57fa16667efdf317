"""Answers where the prompt offers to say that a matter never came up."""

from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.evaluate.rows import Row
from scaleqa.figures.shares import Share, share


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstaining:
    """How well answers tell what came up in the thread from what never did.

    Attributes:
        present: Right answers, of questions whose matter came up.
        absent: Right abstentions, of questions whose matter never came up; None without any.
        abstained: Abstentions, of questions whose matter came up: each of them is wrong.
        precision: Absent matters, of all abstentions; None where nobody abstained.
        recall: Abstentions, of all absent matters; None without any. It differs from `absent` only
            where a judge reads other words as an abstention, or not this one.
    """

    present: Share
    absent: Share | None
    abstained: Share
    precision: Share | None
    recall: Share | None


def abstaining(rows: Sequence[Row]) -> Abstaining | None:
    """Counts abstentions; None where some prompt does not offer them."""
    known = [(row, row.answered) for row in rows if row.answered]
    if len(known) < len(rows) or any(one.abstained is None for _, one in known):
        return None
    here = [one for row, one in known if row.present]
    gone = [one for row, one in known if not row.present]
    declined = [row for row, one in known if one.abstained]
    return Abstaining(
        present=share(one.correct for one in here),
        absent=share(one.correct for one in gone) if gone else None,
        abstained=share(bool(one.abstained) for one in here),
        precision=share(not row.present for row in declined) if declined else None,
        recall=share(bool(one.abstained) for one in gone) if gone else None,
    )
