"""The stored turns and passages of a thread in one sequence: a row per place."""

from dataclasses import dataclass

import numpy as np

from tsim.state import ThreadState
from tsim.vectors import Vectors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The places of a thread, in order.

    Attributes:
        turns: The turn of each.
        episodes: The episode of each.
        starts: The character of its turn at which each begins.
        vectors: The vector of each.
    """

    turns: list[int]
    episodes: list[int]
    starts: list[int]
    vectors: Vectors


def rows_by_place(state: ThreadState) -> Rows:
    """Returns the passages of a thread in order; most threads have one for each turn."""
    if not state.passages:
        return Rows(
            turns=state.turn_ids,
            episodes=state.turn_episodes,
            starts=[0] * len(state.turn_ids),
            vectors=state.turn_vectors,
        )
    turns = np.array([*state.turn_ids, *(row.turn for row in state.passages)])
    starts = np.array([0] * len(state.turn_ids) + [row.start for row in state.passages])
    episodes = np.array(state.turn_episodes)
    order = np.lexsort((starts, turns))
    owners = np.searchsorted(turns[: len(state.turn_ids)], turns[order])
    further = np.stack([row.vector for row in state.passages])
    return Rows(
        turns=turns[order].tolist(),
        episodes=episodes[owners].tolist(),
        starts=starts[order].tolist(),
        vectors=np.concatenate([state.turn_vectors, further])[order],
    )
