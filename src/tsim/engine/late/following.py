"""The value of every turn, from its own relevance or inherited from relevant turns.

Normally a turn inherits from the turns around it in the stream. In interleaved stretches, where
adjacent turns are unrelated, it inherits from the turns of its own conversation.
"""

import numpy as np

from tsim.engine.late.index import ThreadIndex
from tsim.engine.late.relevance import TINY, Asked
from tsim.rank import SpanSettings, Values, inherited, turn_values
from tsim.vectors import best

# The share of its value that a turn of an interleaved stretch keeps if it belongs to no anchor's
# conversation.
STRAY = 1e-3


def follow(settings: SpanSettings, index: ThreadIndex, asked: Asked) -> Values:
    """Returns the value of every turn."""
    worth = turn_values(settings, asked.relevant, index.paths())
    interleaved = index.stretches.interleaved()
    if not interleaved.any():
        return worth
    worth[interleaved] *= STRAY  # these turns do not inherit along the stream
    candidates = best(asked.relevant, settings.max_anchors)
    anchors = [place for place in candidates if interleaved[place]]
    if not anchors:
        return worth
    around = index.stretches.neighbourhood(anchors, settings.conversation_reach)
    inside = around.inside
    at = np.where(inside, around.places, 0)
    share = asked.relevant[anchors].astype(np.float64) / asked.best
    own = asked.own[at].astype(np.float64) / max(float(asked.own.max()), TINY)
    words = index.lengths[at].astype(np.float64)
    found = inherited(settings, share, around.membership, words, own)
    np.maximum.at(worth, at[inside], found[inside])
    return worth
