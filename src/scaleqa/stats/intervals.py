"""Intervals for proportions."""

import math
from statistics import NormalDist
from typing import NamedTuple


class Interval(NamedTuple):
    """A lower and an upper bound."""

    low: float
    high: float


def wilson(successes: float, trials: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion.

    Args:
        successes: Number of successes; fractional if ties were split.
        trials: Number of trials.
        confidence: Confidence level.
    """
    if trials == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return Interval(max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale))
