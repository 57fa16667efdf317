"""The nearest vectors of those that are read block by block, so that few are in RAM at a time."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from tsim.vectors import Vector, Vectors

# The id of a turn, and its cosine.
Near: TypeAlias = tuple[int, float]


def nearest(blocks: Iterable[tuple[list[int], Vectors]], query: Vector, limit: int) -> list[Near]:
    """Returns the turns nearest to a query, best first, those of equal cosine by id.

    Args:
        blocks: Ids of turns and unit vectors, one in each row. A turn may have several; it is as
            near as the nearest of them.
        query: A unit vector.
        limit: Maximum number of turns.
    """
    best: dict[int, float] = {}
    for ids, vectors in blocks:
        if not ids:
            continue
        # Row by row, as searches in RAM do: the cosine of a row does not depend on the others.
        cosines = np.vecdot(vectors, query)
        # A turn that is among the nearest has one of its vectors among as many of this block, if
        # no turn has two in it; so as many are kept for each.
        for place in np.lexsort((ids, -cosines))[: limit + len(ids) - len({*ids})]:
            cosine = float(cosines[place])
            best[ids[place]] = max(cosine, best.get(ids[place], cosine))
        best = dict(sorted(best.items(), key=lambda one: (-one[1], one[0]))[:limit])
    return list(best.items())
