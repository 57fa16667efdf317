"""Comparing two systems on the same questions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scaleqa.stats.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A paired difference of means: first minus second.

    Attributes:
        difference: The difference.
        interval: Percentile bootstrap interval over questions.
        samples: Number of bootstrap samples.
    """

    difference: float
    interval: Interval
    samples: int


def paired_bootstrap(
    first: Sequence[float],
    second: Sequence[float],
    *,
    seed: int,
    samples: int = 10_000,
    confidence: float = 0.95,
) -> Difference:
    """Computes a paired bootstrap interval, resampling questions.

    Raises:
        ValueError: The sequences differ in length or are empty.
    """
    if len(first) != len(second) or not len(first):
        raise ValueError(f"expected two equally long sequences, found {len(first)}, {len(second)}")
    gaps = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    rng = np.random.default_rng(seed)
    means = np.empty(samples)
    for start in range(0, samples, 500):
        size = min(500, samples - start)
        picks = rng.integers(0, len(gaps), size=(size, len(gaps)))
        means[start : start + size] = gaps[picks].mean(axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Difference(
        difference=float(gaps.mean()), interval=Interval(float(low), float(high)), samples=samples
    )


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Returns the exact two-sided p-value of McNemar's test."""
    if len(first) != len(second):
        raise ValueError(f"expected two equally long sequences, found {len(first)}, {len(second)}")
    only_first = sum(a and not b for a, b in zip(first, second, strict=True))
    only_second = sum(b and not a for a, b in zip(first, second, strict=True))
    trials = only_first + only_second
    fewer = min(only_first, only_second)
    logs = [_log_choose(trials, k) - trials * math.log(2) for k in range(fewer + 1)]
    return min(1.0, 2 * sum(math.exp(value) for value in logs)) if trials else 1.0


def kappa(first: Sequence[str], second: Sequence[str]) -> float:
    """Returns Cohen's kappa: agreement beyond chance; 1 if chance agreement is complete."""
    if len(first) != len(second) or not len(first):
        raise ValueError(f"expected two equally long sequences, found {len(first)}, {len(second)}")
    count = len(first)
    agreed = sum(a == b for a, b in zip(first, second, strict=True)) / count
    labels = {*first, *second}
    chance = sum(
        sum(a == label for a in first) * sum(b == label for b in second) for label in labels
    ) / (count * count)
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
