"""What turns cost in a context, by any measure."""

from collections.abc import Sequence
from dataclasses import replace

from tsim.assemble import MARK, heading_bound, line
from tsim.engine.late.index import ThreadIndex
from tsim.engine.protocol import Host
from tsim.rank import Prices
from tsim.tokens import Measure
from tsim.types import Turn

# The shortest turn that is looked for: a speaker and a word.
SHORTEST = "a: a"


def prices(
    measure: Measure, index: ThreadIndex, ids: Sequence[int], host: Host, thread: str
) -> Prices:
    """Returns the prices of a thread's turns.

    The sizes by the measures that are used most are in the index; for others, the texts of those
    turns are read that packing asks for.

    Args:
        measure: How long texts are.
        index: The thread.
        ids: The ids of its turns, by place.
        host: Reads the texts.
        thread: The name of the thread, if headings have it; else empty.
    """
    known = index.sizes(measure)

    def look_up(places: Sequence[int]) -> list[int]:
        if known is not None:
            return [known[place] for place in places]
        turns = {turn.id: turn for turn in host.turns(sorted({ids[place] for place in places}))}
        return [size(turns[ids[place]], index.passages[place]) for place in places]

    def size(turn: Turn, part: tuple[int, int]) -> int:
        whole = part == (0, len(turn.text))
        return measure.size(f"{line(turn if whole else replace(turn, shown=(part,)))}\n")

    return Prices(
        turns=look_up,
        heading=measure.size(heading_bound(ids[-1], dated=index.dated, thread=thread)),
        mark=measure.size(MARK),
        shortest=max(1, measure.size(SHORTEST)),
    )
