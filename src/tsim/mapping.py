"""Maps of a thread: its episodes along the turns.

A map has at most so many blocks, however long the thread is. If it has more episodes, its turns are
divided evenly, and of each part the most likely beginning of a topic is kept.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tsim.arguments import positive, share, whole
from tsim.engine import Outline
from tsim.errors import InputError
from tsim.state import MAX_ID

# Blocks of a map, and points of its profile, if not said otherwise.
BLOCKS, POINTS = 400, 480

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """An episode on a map, or several that are drawn as one.

    Attributes:
        first: Id of its first turn.
        last: Id of its last turn.
        place: The number of turns of the thread before it.
        turns: Its number of turns.
        episodes: How many episodes it holds.
        episode: Id of the episode as it is stored, if it is exactly that one: `forget` takes it.
        opens: Probability that a new topic begins with it; None if the preset has none.
        closes: Probability that a new topic begins after it; 1 at the end of the thread.
        since: The earliest known time of its turns.
        until: The latest known time of its turns.
        interleaved: How many of its turns are among interleaved conversations.
    """

    first: int
    last: int
    place: int
    turns: int
    episodes: int
    episode: int | None
    opens: float | None
    closes: float | None
    since: float | None
    until: float | None
    interleaved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMap:
    """A part of a thread, or all of it, as blocks in order.

    Attributes:
        blocks: The blocks.
        turns: The number of turns of this part.
        place: The number of turns of the thread before it.
        total: The number of turns of the thread.
        episodes: How many episodes the blocks hold.
        threshold: The probability from which a topic begins here; None for the episodes as they
            are stored.
        cut: The probability from which an arriving turn begins an episode; None if the preset
            cannot recompute episodes.
        profile: The highest probability that a new topic begins, for each of at most so many equal
            parts of the turns; empty if the preset has none.
        gone: How many turns were forgotten between the first and the last one.
    """

    blocks: tuple[Block, ...]
    turns: int
    place: int
    total: int
    episodes: int
    threshold: float | None
    cut: float | None
    profile: tuple[float, ...]
    gone: int


def draw(
    outline: Outline,
    *,
    threshold: float | None = None,
    first: int | None = None,
    last: int | None = None,
    blocks: int = BLOCKS,
) -> ThreadMap:
    """Returns a map of the turns between two ids.

    Args:
        outline: The thread.
        threshold: Begin an episode wherever a new topic is at least this likely; by default the
            episodes as they are stored.
        first: The first turn of the map, or the next one if it was forgotten.
        last: The last turn of the map, or the one before it if it was forgotten.
        blocks: Maximum number of blocks.

    Raises:
        InputError: A value is out of range, or the preset has no probabilities for a threshold.
    """
    positive(blocks=blocks)
    low, high = _range(outline.turns, first, last)
    starts = low + np.flatnonzero(_begins(outline, threshold)[low:high])
    starts = np.unique(np.append(low, starts)) if high > low else starts
    shown = _strongest(starts, outline.confidences, low, high, blocks)
    ends = np.append(shown, high)[1:]
    held = np.searchsorted(starts, ends) - np.searchsorted(starts, shown)
    found = [
        _block(outline, int(a), int(b), episodes=int(count), stored=threshold is None)
        for a, b, count in zip(shown, ends, held, strict=True)
    ]
    ids = outline.turns[low:high]
    return ThreadMap(
        blocks=tuple(found),
        turns=high - low,
        place=low,
        total=len(outline.turns),
        episodes=len(starts),
        threshold=threshold,
        cut=outline.cut,
        profile=_profile(outline.confidences, low, high),
        gone=int(ids[-1] - ids[0]) + 1 - len(ids) if len(ids) else 0,
    )


def _range(ids: Ids, first: int | None, last: int | None) -> tuple[int, int]:
    low = 0 if first is None else int(np.searchsorted(ids, _id("first", first)))
    high = len(ids) if last is None else int(np.searchsorted(ids, _id("last", last), "right"))
    return low, max(low, high)


def _id(name: str, value: int) -> int:
    """Returns a whole number as the nearest that can be an id."""
    return min(max(whole(name, value), -1), MAX_ID)


def _begins(outline: Outline, threshold: float | None) -> npt.NDArray[np.bool_]:
    """Returns which turns begin an episode."""
    if threshold is None:
        before = np.append(-1, outline.episodes[:-1])[: len(outline.episodes)]
        changes: npt.NDArray[np.bool_] = outline.episodes != before
        return changes
    if outline.confidences is None:
        raise InputError(
            "this preset cuts episodes once, as turns arrive; leave out the threshold, or open the "
            "memory with preset late"
        )
    begins: npt.NDArray[np.bool_] = outline.confidences >= share("threshold", threshold)
    return begins


def _strongest(
    starts: Ids, sure: npt.NDArray[np.float64] | None, low: int, high: int, most: int
) -> Ids:
    """Returns at most so many starts: of equal parts of the turns, the most certain of each."""
    if len(starts) <= most:
        return starts
    parts = (starts - low) * most // (high - low)
    certain = np.zeros(len(starts)) if sure is None else sure[starts]
    order = np.lexsort((starts, -certain, parts))
    _, firsts = np.unique(parts[order], return_index=True)
    shown: Ids = np.sort(starts[order][firsts])
    shown[0] = low
    return shown


def _block(outline: Outline, low: int, high: int, *, episodes: int, stored: bool) -> Block:
    sure = outline.confidences
    owners = outline.episodes
    end = high == len(outline.turns)
    begun = low > 0 and owners[low - 1] == owners[low]
    goes_on = not end and owners[high] == owners[high - 1]
    exact = stored and owners[low] == owners[high - 1] and not begun and not goes_on
    times = outline.times[low:high]
    known = times[np.isfinite(times)]
    return Block(
        first=int(outline.turns[low]),
        last=int(outline.turns[high - 1]),
        place=low,
        turns=high - low,
        episodes=episodes,
        episode=int(owners[low]) if exact else None,
        opens=None if sure is None else float(sure[low]),
        closes=None if sure is None else 1.0 if end else float(sure[high]),
        since=float(known.min()) if len(known) else None,
        until=float(known.max()) if len(known) else None,
        interleaved=int(outline.interleaved[low:high].sum()),
    )


def _profile(sure: npt.NDArray[np.float64] | None, low: int, high: int) -> tuple[float, ...]:
    if sure is None or high == low:
        return ()
    edges = low + np.arange(min(POINTS, high - low)) * (high - low) // min(POINTS, high - low)
    return tuple(np.maximum.reduceat(sure[:high], edges).tolist())
