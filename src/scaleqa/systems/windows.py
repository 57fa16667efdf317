"""Windows of consecutive turns around hits: growing, ordering for diversity, cutting to fit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tsim.toolkit import Vectors

# A merged window is at most this many times as long as a single one. Otherwise, in a short thread,
# the windows of all hits would merge into one.
WIDEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Turns from `start` up to but not including `stop`, around the best hit in them.

    Attributes:
        start: Position of the first turn.
        stop: Position after the last turn.
        centre: Position of the best hit.
        score: The score of the best hit.
    """

    start: int
    stop: int
    centre: int
    score: float


def grow(hits: Sequence[tuple[int, float]], *, radius: int, length: int) -> list[Window]:
    """Extends hits to windows that do not overlap; both are ordered best first.

    A hit takes `radius` turns on either side, except turns that a better window already has. It is
    merged with the window that contains it, or that has some of its turns, unless that window would
    get too long.
    """
    widest = WIDEST * (2 * radius + 1)
    windows: list[Window] = []
    for place, score in hits:
        first, last = max(0, place - radius), min(length, place + radius + 1)
        low = max([first, *(w.stop for w in windows if w.stop <= place)])
        high = min([last, *(w.start for w in windows if w.start > place)])
        around = [n for n, w in enumerate(windows) if w.start <= place < w.stop]
        beside = around or [
            n for n, w in enumerate(windows) if w.stop == low > first or w.start == high < last
        ]
        for number in beside:
            known = windows[number]
            start, stop = min(low, known.start), max(high, known.stop)
            if stop - start <= widest:
                windows[number] = replace(known, start=start, stop=stop)
                break
        else:
            if not around:
                windows.append(Window(start=low, stop=high, centre=place, score=score))
    return windows


def diversify(windows: Sequence[Window], vectors: Vectors, balance: float) -> list[Window]:
    """Orders windows by maximal marginal relevance.

    Args:
        windows: In any order.
        vectors: One unit vector per window.
        balance: Weight of relevance (scaled to 0–1) against similarity to windows already taken.
    """
    if not windows:
        return []
    scores = np.array([window.score for window in windows])
    spread = float(np.ptp(scores))
    relevance = (scores - scores.min()) / spread if spread else np.ones(len(scores))
    likeness = np.zeros(len(windows))
    left = list(range(len(windows)))
    out = []
    while left:
        worth = np.round(balance * relevance - (1 - balance) * likeness, 6)
        chosen = max(left, key=lambda n: (worth[n], -n))
        left.remove(chosen)
        out.append(windows[chosen])
        likeness = np.maximum(likeness, np.vecdot(vectors, vectors[chosen]))
    return out


def fit(window: Window, words: Sequence[int], room: int) -> Window | None:
    """Cuts a window to the turns nearest its centre that fit; None if the centre does not fit.

    Args:
        window: The window to cut.
        words: Number of words of each turn of the thread.
        room: Maximum number of words.
    """
    start = stop = window.centre
    for place in sorted(range(window.start, window.stop), key=lambda p: abs(p - window.centre)):
        room -= words[place]
        if room < 0:
            break
        start, stop = min(start, place), max(stop, place + 1)
    return replace(window, start=start, stop=stop) if stop > start else None
