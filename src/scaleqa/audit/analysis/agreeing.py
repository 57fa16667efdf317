"""How far raters agree on every question, by several measures."""

from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.audit.items import CUES, POINTS, SCALES
from scaleqa.audit.judgements import NONE, Sheet
from scaleqa.records.schema import LETTERS
from scaleqa.stats import agreement
from scaleqa.stats.agreement import Estimate, coded, estimate, pairs_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One question.

    Attributes:
        question: Its name.
        items: Items with at least two ratings.
        percent: Share of pairs of ratings that are equal.
        kappa: Fleiss' kappa.
        cohen: Mean of Cohen's kappas of all pairs of raters.
        nominal: Krippendorff's alpha, where only equal ratings agree.
        ordinal: The same by the order of the points; None of what has no order.
        interval: The same by their distance.
    """

    question: str
    items: int
    percent: Estimate
    kappa: Estimate
    cohen: float | None
    nominal: Estimate
    ordinal: Estimate | None
    interval: Estimate | None


def agreements(sheet: Sheet, *, seed: int) -> list[Agreement]:
    """Every question about the items of a table."""
    return [
        _agreement("answer", sheet.answers(), LETTERS, seed),
        *(_agreement(scale, sheet.points(scale), POINTS, seed, True) for scale in SCALES),
        _agreement("primary", sheet.primaries(), (*CUES, NONE), seed),
        *(_agreement(cue, sheet.sees(cue), (False, True), seed) for cue in CUES),
    ]


def _agreement(
    name: str,
    ratings: Sequence[Sequence[object]],
    categories: Sequence[object],
    seed: int,
    ordered: bool = False,
) -> Agreement:
    codes = coded(ratings, categories)
    count = len(categories)

    def alpha(level: agreement.Level) -> Estimate:
        return estimate(agreement.alpha(codes, count, level), seed=seed)

    kappas = [
        estimate(agreement.cohen(codes[:, pair], count), seed=seed, samples=1).value
        for pair in pairs_of(codes.shape[1])
    ]
    known = [kappa for kappa in kappas if kappa is not None]
    return Agreement(
        question=name,
        items=int(((codes != agreement.MISSING).sum(axis=1) >= 2).sum()),
        percent=estimate(agreement.percent(codes, count), seed=seed),
        kappa=estimate(agreement.fleiss(codes, count), seed=seed),
        cohen=sum(known) / len(known) if known else None,
        nominal=alpha("nominal"),
        ordinal=alpha("ordinal") if ordered else None,
        interval=alpha("interval") if ordered else None,
    )
