"""What changes when turns are forgotten: the runs around them.

Embedded runs depend on the gaps between turns, and a gap on a few turns around it. Where a new
topic begins so certainly that the thread is cut, they end, whatever comes before and after. So only
those between two such places can change, and only their turns are read. What is joined from them
is not stored.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tsim.engine.late.index import ThreadIndex
from tsim.segment import AFTER, BEFORE, Run, RunCutter
from tsim.types import Turn

# The ids of a run's first and last turns.
Key = tuple[int, int]
# Turns on either side that are read first; twice as many if no place is found where all runs end.
AROUND = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """How the runs of a thread change.

    Attributes:
        removed: The keys of the runs that are no longer there, in order.
        added: The keys and texts of those that were not there, in order.
    """

    removed: list[Key]
    added: dict[Key, str]


def rerun(
    index: ThreadIndex,
    ids: Sequence[int],
    gone: set[int],
    turns: Callable[[Sequence[int]], Iterable[Turn]],
) -> Rerun:
    """Returns how runs change when turns are forgotten.

    Args:
        index: The thread with these turns; its texts need not have been read.
        ids: The turn at each place.
        gone: The turns to be forgotten; at least one.
        turns: Returns the stored ones of some turns.
    """
    first, last = bisect_left(ids, min(gone)), bisect_right(ids, max(gone))
    low, begin = _end_before(index, ids, first, turns)
    high, end = _end_after(index, ids, last, turns)
    places = range(low, high)
    read = texts([*dict.fromkeys(ids[low:high])], turns)
    kept = [place for place in places if ids[place] not in gone]
    added = _runs(index, ids, kept, read, begin, end)
    # Earlier versions embedded longer runs as well; of these, what may have changed goes.
    stored = {key(run, ids) for run in index.runs.embedded if begin < run[1] and run[0] < end}
    cut = sorted(gone)
    intact = {one for one in stored if bisect_left(cut, one[0]) == bisect_right(cut, one[1])}
    return Rerun(
        removed=sorted(stored - (intact & added.keys())),
        added={one: added[one] for one in sorted(added.keys() - intact)},
    )


def _end_before(
    index: ThreadIndex,
    ids: Sequence[int],
    first: int,
    turns: Callable[[Sequence[int]], Iterable[Turn]],
) -> tuple[int, int]:
    """Returns the last place before forgotten turns at which all runs end.

    Returns:
        A place so far before it that the gaps from it on are known, and the place.
    """
    around = AROUND
    while True:
        low = _beginning(index, first - around)
        ends = _ending(index, ids, range(low, first), turns)
        # Gaps that depend neither on what is forgotten nor on what was not read.
        known = range(low + BEFORE, first - AFTER + 1)
        begin = next((place for place in reversed(known) if ends[place - low]), None)
        if begin is not None or low == 0:
            return low, begin or 0
        around *= 2


def _end_after(
    index: ThreadIndex,
    ids: Sequence[int],
    last: int,
    turns: Callable[[Sequence[int]], Iterable[Turn]],
) -> tuple[int, int]:
    """Returns the same for the first place after forgotten turns, or the end of the thread."""
    around = AROUND
    while True:
        high = _beginning(index, last + around)
        ends = _ending(index, ids, range(last, high), turns)
        known = range(last + BEFORE, high - AFTER + 1)
        end = next((place for place in known if ends[place - last]), None)
        if end is not None or high == len(index):
            return high, len(index) if end is None else end
        around *= 2


def _ending(
    index: ThreadIndex,
    ids: Sequence[int],
    places: range,
    turns: Callable[[Sequence[int]], Iterable[Turn]],
) -> list[bool]:
    """Returns for some places, read alone, whether all runs end there."""
    found = texts([*dict.fromkeys(ids[places.start : places.stop])], turns)
    part = _read(index, ids, places, found)
    ends: list[bool] = (part.cuts(0, len(part)) >= index.run_settings.cut).tolist()
    return ends


def key(run: Run, ids: Sequence[int]) -> Key:
    """Returns the ids of a run's first and last turns."""
    return ids[run[0]], ids[run[1] - 1]


def _runs(
    index: ThreadIndex,
    ids: Sequence[int],
    kept: Sequence[int],
    read: Mapping[int, Turn],
    begin: int,
    end: int,
) -> dict[Key, str]:
    """Returns the runs of remaining turns from one place where all runs end to the next.

    Args:
        index: The thread.
        ids: The turn at each place.
        kept: The places that remain of a part of it.
        read: The turns of this part.
        begin: The first place where all runs end.
        end: The second one, or the end of the thread.
    """
    part = _read(index, ids, kept, read)
    first = bisect_left(kept, begin)
    # The gap at the second place closes runs; the newest gap of a thread is not settled.
    last = bisect_left(kept, end) + 1 if end < len(index) else len(kept) - AFTER + 1
    if last <= first:
        return {}
    sure = part.cuts(first, last)
    sure[0] = 1.0
    found: dict[Key, str] = {}
    closed = RunCutter(index.run_settings).advance(sure.tolist(), part.lengths[first:last].tolist())
    for piece in closed:
        some = [ids[kept[first + place]] for place in range(*piece.run)]
        if len(some) > 1:
            found[some[0], some[-1]] = "\n".join(read[turn].text for turn in some)
    return found


def _read(
    index: ThreadIndex, ids: Sequence[int], places: Sequence[int], read: Mapping[int, Turn]
) -> ThreadIndex:
    """Returns an index of some places, in which what closes runs has been read."""
    part = index.part(places)
    for turn in dict.fromkeys(ids[place] for place in places):
        part.read(read[turn])
    return part


def texts(ids: Sequence[int], turns: Callable[[Sequence[int]], Iterable[Turn]]) -> dict[int, Turn]:
    """Returns turns by their ids.

    Those that somebody else has forgotten meanwhile are empty; what is made of them is not stored.
    """
    found = {turn.id: turn for turn in turns(ids)}
    return {turn: found.get(turn) or Turn(id=turn, role="", text="") for turn in ids}


def _beginning(index: ThreadIndex, place: int) -> int:
    """Returns the first place from here on at which a turn begins, or the end of the thread."""
    starts = index.passages.starts
    place = min(max(0, place), len(index))
    while place < len(index) and starts[place]:
        place += 1
    return place
