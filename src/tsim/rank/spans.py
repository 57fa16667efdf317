"""Episodes at query time: where does the question point, and how far does that topic reach?

    score(W) = cos(q, Σ x) + words · coverage(q, W)          for every window W of a few turns
    share(p) = exp(score(p) / heat) / Σ exp(score / heat)    over the best windows that do not touch
    value(t) = 1 - Π (1 - share(p) · Π (1 - confidence(g)))  over peaks p, and gaps g from p to t

A turn's value is the chance that it belongs to the topic that is asked for. It falls where the
stream seems to turn to something else, so edges follow from the boundary evidence and nothing is
cut in advance.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tsim.vectors import Vector, best

# A chance that no budget will ever reach.
LEAST = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanSettings:
    """Constants of the method.

    Attributes:
        width: Turns in a window.
        power: A term weighs its rarity to this power.
        name: A name weighs this many times more.
        words: Weight of coverage beside the cosine.
        peaks: Windows that are followed up.
        heat: How much better a window must be to be much likelier: in units of score.
        reach: Turns a topic may reach to either side of its anchor.
        long: Words after which a turn's length counts against it: more words say no more.
        skip: Turns that may be missing inside a span.
        budget: Tokens, where the caller does not say.
    """

    width: int
    power: float
    name: float
    words: float
    peaks: int
    heat: float
    reach: int
    long: int
    skip: int
    budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """A window that the question points to.

    Attributes:
        start: Its first place.
        score: What it was ranked by.
        share: The odds that it is the one that is asked for.
        anchor: The place of the turn in it that the question points to most.
    """

    start: int
    score: float
    share: float
    anchor: int


def peaks(
    settings: SpanSettings, scores: Vector, relevance: Vector, width: int
) -> tuple[Peak, ...]:
    """Returns the best windows, best first, none overlapping another.

    Args:
        settings: Constants.
        scores: Of each window, by its first place.
        relevance: Of each turn.
        width: Turns in a window here; a short thread has shorter ones.
    """
    starts: list[int] = []
    # A peak rules out at most 2 · width - 1 windows, itself included.
    for start in best(scores, settings.peaks * (2 * width - 1)):
        if all(abs(start - other) >= width for other in starts):
            starts.append(start)
            if len(starts) == settings.peaks:
                break
    if not starts:
        return ()
    top = float(scores[starts[0]])
    odds = [math.exp((float(scores[start]) - top) / settings.heat) for start in starts]
    total = math.fsum(odds)
    return tuple(
        Peak(
            start=start,
            score=float(scores[start]),
            share=one / total,
            anchor=start + int(relevance[start : start + width].argmax()),
        )
        for start, one in zip(starts, odds, strict=True)
    )


def values(
    settings: SpanSettings,
    found: Sequence[Peak],
    count: int,
    confidence: Callable[[int], float],
) -> dict[int, float]:
    """Returns the value of every turn in reach of a peak.

    Args:
        settings: Constants.
        found: The peaks.
        count: Turns in the thread.
        confidence: Of a new topic at the gap before a place.
    """
    missed: dict[int, float] = {}
    for peak in found:
        missed[peak.anchor] = missed.get(peak.anchor, 1.0) * (1 - peak.share)
        for step in (1, -1):
            chance = peak.share
            for distance in range(1, settings.reach + 1):
                place = peak.anchor + step * distance
                if not 0 <= place < count:
                    break
                chance *= 1 - confidence(place if step > 0 else place + 1)
                if chance < LEAST:
                    break
                missed[place] = missed.get(place, 1.0) * (1 - chance)
    return {place: 1 - chance for place, chance in missed.items()}
