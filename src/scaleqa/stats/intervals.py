"""Intervals for proportions, means and medians."""

import math
import statistics
from collections.abc import Sequence
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


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """The normal interval of a mean; of one value, that value."""
    count = len(values)
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) / math.sqrt(count) if count > 1 else 0.0
    reach = NormalDist().inv_cdf(0.5 + confidence / 2) * spread
    return Interval(mean - reach, mean + reach)


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, Interval]:
    """The median, and the values at the ranks between which it lies, whatever the distribution.

    The ranks are those of the normal approximation to the binomial distribution; of few values,
    the lowest and the highest.
    """
    ordered, count = sorted(values), len(values)
    reach = NormalDist().inv_cdf(0.5 + confidence / 2) * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - reach))
    high = min(count - 1, math.ceil(count / 2 + reach))
    return statistics.median(ordered), Interval(ordered[low], ordered[high])
