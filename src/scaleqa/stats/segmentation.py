"""Metrics for segmentation.

Cuts are given per gap: a sequence of n items has n - 1 gaps, and True means a cut. A window of k
gaps lies between two items at distance k.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

Cuts: TypeAlias = Sequence[bool]


def pk(wanted: Cuts, found: Cuts, k: int) -> float:
    """Beeferman's Pk: share of pairs at distance k wrongly joined or separated; 0 is best.

    Raises:
        ValueError: The sequences differ in length, or no window fits.
    """
    return _windows(wanted, found, k, lambda cuts: min(1, sum(cuts)))


def window_diff(wanted: Cuts, found: Cuts, k: int) -> float:
    """WindowDiff of Pevzner and Hearst: share of windows with the wrong number of cuts.

    Raises:
        ValueError: The sequences differ in length, or no window fits.
    """
    return _windows(wanted, found, k, sum)


def half_segment(wanted: Iterable[Cuts]) -> int:
    """Returns the window size for both metrics: half the mean segment, rounded, at least 1."""
    items, segments = 0, 0
    for cuts in wanted:
        items += len(cuts) + 1
        segments += sum(cuts) + 1
    return max(1, (items + segments) // (2 * segments)) if segments else 1


def exact_f1(wanted: Iterable[Cuts], found: Iterable[Cuts]) -> float:
    """F1 of cuts at exactly the right gap, over all sequences; 0 if none is right."""
    right, there, made = 0, 0, 0
    for one, other in zip(wanted, found, strict=True):
        right += sum(a and b for a, b in zip(one, other, strict=True))
        there += sum(one)
        made += sum(other)
    return 2 * right / (there + made) if there + made else 0.0


def _windows(wanted: Cuts, found: Cuts, k: int, count: Callable[[Cuts], int]) -> float:
    if len(wanted) != len(found):
        raise ValueError(f"expected equally many gaps, found {len(wanted)}, {len(found)}")
    if not 1 <= k <= len(wanted):
        raise ValueError(f"no window of {k} gaps fits among {len(wanted)}")
    starts = range(len(wanted) - k + 1)
    wrong = sum(count(wanted[i : i + k]) != count(found[i : i + k]) for i in starts)
    return wrong / len(starts)
