"""How far raters agree, with intervals over the items they rated.

Ratings are a matrix of items and raters: the number of a category, counted from 0, or `MISSING`.
Every measure is a formula of sums over items, so a bootstrap over items needs the terms of each
item once: a sample is a weighting of the items. A measure that is not defined, because everybody
said the same about everything or nobody rated what another did, is NaN.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scaleqa.stats.intervals import Interval

MISSING = -1
SAMPLES = 2_000
Codes: TypeAlias = NDArray[np.int64]
Array: TypeAlias = NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval"]
# Terms of every item, and the formula of their sums: (samples, terms) -> (samples).
Measure: TypeAlias = tuple[Array, Callable[[Array], Array]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure and its percentile bootstrap interval; None where it is not defined."""

    value: float | None
    interval: Interval | None
    items: int


def coded(ratings: Sequence[Sequence[object]], categories: Sequence[object]) -> Codes:
    """Numbers ratings by their place among the categories; None is a missing rating.

    Raises:
        ValueError: The rows differ in length, or a rating is no category.
    """
    places = {category: place for place, category in enumerate(categories)}
    widths = {len(row) for row in ratings}
    if len(widths) > 1:
        raise ValueError(f"expected as many ratings of every item, found {sorted(widths)}")
    unknown = {one for row in ratings for one in row if one is not None and one not in places}
    if unknown:
        raise ValueError(f"{sorted(map(str, unknown))[0]!r} is none of {[*categories]}")
    rows = [[MISSING if one is None else places[one] for one in row] for row in ratings]
    return np.array(rows, dtype=np.int64).reshape(len(rows), max(widths, default=0))


def percent(codes: Codes, categories: int) -> Measure:
    """The share of pairs of ratings of the same item that are equal."""
    counts = _counts(codes, categories)
    total = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1)
    return np.column_stack([agreeing, total * (total - 1)]), lambda sums: _ratio(
        sums[:, 0], sums[:, 1]
    )


def cohen(codes: Codes, categories: int) -> Measure:
    """Cohen's kappa of two raters, over the items that both rated (Cohen, 1960).

    Raises:
        ValueError: There are not two raters.
    """
    if codes.shape[1] != 2:
        raise ValueError(f"Cohen's kappa is of two raters, found {codes.shape[1]}")
    both = (codes != MISSING).all(axis=1)
    cells = np.zeros((len(codes), categories * categories))
    cells[both, codes[both, 0] * categories + codes[both, 1]] = 1

    def formula(sums: Array) -> Array:
        table = sums.reshape(-1, categories, categories)
        total = table.sum(axis=(1, 2))
        agreed = _ratio(np.trace(table, axis1=1, axis2=2), total)
        chance = _ratio((table.sum(axis=2) * table.sum(axis=1)).sum(axis=1), total**2)
        return _ratio(agreed - chance, 1 - chance)

    return cells, formula


def fleiss(codes: Codes, categories: int) -> Measure:
    """Fleiss' kappa (Fleiss, 1971), over items with at least two ratings.

    Items may have different numbers of ratings: the agreement of an item is that of its pairs, and
    chance is that of all ratings of such items. With equal numbers this is Fleiss' formula.
    """
    counts = _counts(codes, categories)
    total = counts.sum(axis=1)
    rated = total >= 2
    counts[~rated] = 0
    agreement = _ratio((counts * (counts - 1)).sum(axis=1), total * (total - 1))
    terms = np.column_stack([np.where(rated, agreement, 0.0), rated.astype(float), counts])

    def formula(sums: Array) -> Array:
        observed = _ratio(sums[:, 0], sums[:, 1])
        shares = _ratio(sums[:, 2:], sums[:, 2:].sum(axis=1, keepdims=True))
        chance = (shares**2).sum(axis=1)
        return _ratio(observed - chance, 1 - chance)

    return terms, formula


def alpha(codes: Codes, categories: int, level: Level) -> Measure:
    """Krippendorff's alpha: 1 - observed / expected disagreement (Krippendorff, 2011).

    Args:
        codes: The ratings.
        categories: Number of categories; in their order for `ordinal`, at equal distances for
            `interval`.
        level: What the distance of two categories is: 0 or 1, by the number of ratings between
            them, or by their numbers.
    """
    counts = _counts(codes, categories)
    total = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(categories)
    weight = np.where(total > 1, 1 / np.maximum(total - 1, 1), 0.0)
    terms = (pairs * weight[:, None, None]).reshape(len(codes), -1)

    def formula(sums: Array) -> Array:
        coincidences = sums.reshape(-1, categories, categories)
        margins = coincidences.sum(axis=2)
        distance = _distances(margins, level)
        observed = (coincidences * distance).sum(axis=(1, 2))
        chance = (margins[:, :, None] * margins[:, None, :] * distance).sum(axis=(1, 2))
        return 1 - _ratio(observed * (margins.sum(axis=1) - 1), chance)

    return terms, formula


def mean(values: Array) -> Measure:
    """The mean of a value of each item; NaN where an item has none."""
    known = ~np.isnan(values)
    return np.column_stack(
        [np.where(known, values, 0.0), known.astype(float)]
    ), lambda sums: _ratio(sums[:, 0], sums[:, 1])


def estimate(measure: Measure, *, seed: int, samples: int = SAMPLES) -> Estimate:
    """Computes a measure, and its 95 % percentile interval by resampling items."""
    terms, formula = measure
    items = len(terms)
    if not items:
        return Estimate(value=None, interval=None, items=0)
    value = float(formula(terms.sum(axis=0, keepdims=True))[0])
    if np.isnan(value):
        return Estimate(value=None, interval=None, items=items)
    rng = np.random.default_rng(seed)
    drawn = np.empty(samples)
    for start in range(0, samples, 250):
        size = min(250, samples - start)
        weights = rng.multinomial(items, np.full(items, 1 / items), size=size)
        drawn[start : start + size] = formula(weights.astype(np.float64) @ terms)
    # A sample may be of items about which everybody said the same.
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return Estimate(value=value, interval=Interval(float(low), float(high)), items=items)


def pairs_of(raters: int) -> list[tuple[int, int]]:
    """Names every pair of raters, in order."""
    return list(combinations(range(raters), 2))


def _counts(codes: Codes, categories: int) -> Array:
    """Counts how often each item was put into each category."""
    return np.stack([(codes == one).sum(axis=1) for one in range(categories)], axis=1).astype(float)


def _ratio(above: Array, below: Array) -> Array:
    out = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    # Chance agreement that is complete but for rounding is complete.
    np.divide(above, below, out=out, where=np.abs(below) > 1e-12)
    return out


def _distances(margins: Array, level: Level) -> Array:
    """Squared distances between categories, for every sample: (samples, categories, categories)."""
    samples, categories = margins.shape
    places = np.arange(categories)
    if level == "nominal":
        flat = 1 - np.eye(categories)
    elif level == "interval":
        flat = ((places[:, None] - places[None, :]) ** 2).astype(float)
    elif level == "ordinal":
        below = np.cumsum(margins, axis=1)
        # Ratings from one category to the other, with half of those in each of the two.
        middle = below - margins / 2
        return (middle[:, :, None] - middle[:, None, :]) ** 2
    else:
        raise ValueError(f"unknown level {level!r}; there are nominal, ordinal and interval")
    return np.broadcast_to(flat, (samples, categories, categories))
