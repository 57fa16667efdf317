"""What turns cost in a context, by any measure."""

from collections.abc import Sequence

from tsim.assemble import MARK, heading_bound, line
from tsim.engine.late.index import ThreadIndex
from tsim.engine.protocol import Host
from tsim.rank import Prices
from tsim.tokens import Measure

# The shortest turn that is looked for: a speaker and a word.
SHORTEST = "a: a"


def prices(measure: Measure, index: ThreadIndex, ids: Sequence[int], host: Host) -> Prices:
    """Returns the prices of a thread's turns.

    The sizes by the measures that are used most are in the index; for others, the texts of those
    turns are read that packing asks for.

    Args:
        measure: How long texts are.
        index: The thread.
        ids: The ids of its turns, by place.
        host: Reads the texts.
    """
    known = index.sizes(measure)

    def look_up(places: Sequence[int]) -> list[int]:
        if known is not None:
            return [known[place] for place in places]
        wanted = [ids[place] for place in places]
        found = {turn.id: measure.size(f"{line(turn)}\n") for turn in host.turns(sorted(wanted))}
        return [found[turn] for turn in wanted]

    return Prices(
        turns=look_up,
        heading=measure.size(heading_bound(ids[-1], dated=index.dated)),
        mark=measure.size(MARK),
        shortest=max(1, measure.size(SHORTEST)),
    )
