"""Turns that say nearly the same as an earlier turn, and may replace it.

"I take the 8:15 to work" and, a month later, "I take the 7:40 to work now": an embedding hardly
tells which of them is meant, so the later one should be a little more likely to hold what was
asked.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tsim.engine.late.index import ThreadIndex
from tsim.engine.late.relevance import Asked
from tsim.rank.fitted import Column
from tsim.vectors import best

# Turns that are compared: those with the highest scores.
COMPARED = 64
# The cosine above which two turns of a speaker may say the same, and the log odds that the later
# one may lack for each unit by which they exceed it: the closer they are, the less it matters which
# of them matches the question better.
MAYBE_SAME, REACH = 0.5, 20.0
# The log odds by which a turn that replaces many others exceeds them; half of it for one other.
MARGIN = 0.4

# The place of a turn, the places of those that it may replace, and the log odds it may lack.
Renewal: TypeAlias = tuple[int, npt.NDArray[np.int64], Column]


def renewals(index: ThreadIndex, asked: Asked) -> list[Renewal]:
    """Finds turns that say nearly the same as earlier turns of the same speaker.

    Only turns whose times are known are compared.
    """
    if not index.dated:
        return []
    times, roles = index.attributes.times, index.attributes.roles
    known = asked.eligible & np.isfinite(times)
    if not known.any():
        return []
    candidates = best(np.where(known, asked.relevant, -np.inf).astype(np.float32), COMPARED)
    places = np.array(sorted(place for place in candidates if known[place]))
    order = places[np.lexsort((places, times[places]))]
    # Row by row, as everywhere, so that cosines do not depend on the other rows.
    rows = index.vectors.take(places)[np.searchsorted(places, order)]
    excess = np.vecdot(rows[None], rows[:, None]).astype(np.float64) - MAYBE_SAME
    same = excess > 0
    same &= roles[order] == roles[order][:, None]
    same &= times[order] < times[order][:, None]
    return [
        (int(order[later]), order[same[later]], REACH * excess[later, same[later]])
        for later in np.flatnonzero(same.any(axis=1)).tolist()
    ]


def renew(logits: Column, renewed: Sequence[Renewal]) -> Column:
    """Returns logits in which no turn is below those that it may replace."""
    out = logits.copy() if renewed else logits
    for place, replaced, lack in renewed:
        close = logits[replaced][logits[replaced] <= logits[place] + lack]
        if len(close):
            margin = MARGIN * len(close) / (len(close) + 1)
            out[place] = max(logits[place], close.max() + margin)
    return out
