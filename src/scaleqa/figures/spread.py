"""The spread of values."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Mean, median, 95th percentile (the value at that rank, rounded down) and largest value."""

    mean: float
    median: float
    p95: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    """Computes the spread of some values."""
    ordered = sorted(values)
    return Spread(
        mean=statistics.fmean(ordered),
        median=statistics.median(ordered),
        p95=ordered[int(0.95 * (len(ordered) - 1))],
        most=ordered[-1],
    )
