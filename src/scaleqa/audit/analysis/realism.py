"""The 1-5 scales: of all items, by topic, by source, by rater.

As in the paper, figures are about items: the points of an item are the mean over its raters.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from scaleqa.audit.items import SCALES, Item, Scale
from scaleqa.audit.judgements import Sheet
from scaleqa.stats import Interval
from scaleqa.stats.agreement import Array, Estimate, estimate, mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """A scale over items.

    Attributes:
        scale: Its name.
        items: How many items were rated.
        mean: Mean over items.
        interval: Bootstrap interval over items.
        median: Median over items.
        std: Standard deviation over items; None of one.
    """

    scale: str
    items: int
    mean: float | None
    interval: Interval | None
    median: float | None
    std: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """How natural items of one form are, ours beside those of another source.

    Attributes:
        form: The form in which both were shown.
        source: The other source.
        ours: Our mean.
        theirs: The other's mean.
        difference: Ours minus theirs, with an interval over items of both.
        items: Number of our items, and of theirs.
    """

    form: str
    source: str
    ours: float
    theirs: float
    difference: Estimate
    items: tuple[int, int]


def item_means(sheet: Sheet, scale: Scale) -> Array:
    """The mean points of each item; NaN where nobody was asked."""
    return np.array([_mean(row) for row in sheet.points(scale)], dtype=np.float64)


def points(sheet: Sheet, *, seed: int) -> list[Points]:
    """All scales over the items of a table."""
    out = []
    for scale in SCALES:
        means = item_means(sheet, scale)
        known = means[~np.isnan(means)]
        found = estimate(mean(known), seed=seed)
        out.append(
            Points(
                scale=scale,
                items=len(known),
                mean=found.value,
                interval=found.interval,
                median=float(np.median(known)) if len(known) else None,
                std=float(np.std(known, ddof=1)) if len(known) > 1 else None,
            )
        )
    return out


def grouped(sheet: Sheet, key: Callable[[Item], str], *, seed: int) -> dict[str, dict[str, Points]]:
    """All scales over the items of each group, by group and scale."""
    groups = sorted({key(item) for item in sheet.items})
    return {
        group: {
            one.scale: one
            for one in points(sheet.only(i for i in sheet.items if key(i) == group), seed=seed)
        }
        for group in groups
    }


def beside_others(sheet: Sheet, ours: str, *, seed: int) -> list[Beside]:
    """Compares how natural our items are with those of each other source, in the same form."""
    found = []
    sources = sorted({item.origin.source for item in sheet.items} - {ours})
    for form, source in product(("chat", "open", "choice"), sources):
        mine = _naturalness(sheet, (form, ours))
        theirs = _naturalness(sheet, (form, source))
        if len(mine) and len(theirs):
            found.append(
                Beside(
                    form=form,
                    source=source,
                    ours=float(mine.mean()),
                    theirs=float(theirs.mean()),
                    difference=_difference(mine, theirs, seed),
                    items=(len(mine), len(theirs)),
                )
            )
    return found


def rater_means(sheet: Sheet, rater: int) -> dict[str, float | None]:
    """The mean points that a rater gave on each scale."""
    return {
        scale: _mean([row[0] for row in sheet.points(scale, [rater])], absent=None)
        for scale in SCALES
    }


def _naturalness(sheet: Sheet, kind: tuple[str, str]) -> Array:
    own = sheet.only(i for i in sheet.items if (i.form, i.origin.source) == kind)
    return item_means(own, SCALES[0])


def _difference(mine: Array, theirs: Array, seed: int, samples: int = 2_000) -> Estimate:
    """The difference of two means; items of both are resampled apart."""
    rng = np.random.default_rng(seed)
    drawn = [
        some[rng.integers(0, len(some), size=(samples, len(some)))].mean(axis=1)
        for some in (mine, theirs)
    ]
    low, high = np.quantile(drawn[0] - drawn[1], [0.025, 0.975])
    return Estimate(
        value=float(mine.mean() - theirs.mean()),
        interval=Interval(float(low), float(high)),
        items=len(mine) + len(theirs),
    )


def _mean(row: Iterable[int | None], absent: float | None = np.nan) -> float | None:
    given = [one for one in row if one is not None]
    return sum(given) / len(given) if given else absent
