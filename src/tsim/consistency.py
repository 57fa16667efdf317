"""Does the content of a thread hold together?

Asked when a memory is verified, when an export is imported, and when a thread is loaded: an engine
relies on it.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from tsim.errors import StoreError
from tsim.state import PassageRow, SentenceRow, ThreadState
from tsim.vectors import Vector, Vectors, vector_problem

# How far the centre of a cluster may be from the sum of its episodes, which was added up in order.
SUM_TOLERANCE = 1e-4
# Vectors checked at once, so that they are never all copied.
CHUNK = 4096
# The first character at which a part may begin: the first passage is the turn's own row.
LEAST_START = {"passage": 1, "sentence": 0}


def inconsistencies(state: ThreadState, dimension: int, *, summarises: bool) -> list[str]:
    """Returns the problems of a thread.

    Args:
        state: The whole content of the thread.
        dimension: Length of its vectors.
        summarises: Whether closed episodes must have a summary.
    """
    return [
        *_turns(state, dimension),
        *_episodes(state, dimension, summarises),
        *_clusters(state, dimension),
        *_spans(state),
        *_vectors("span", [span.vector for span in state.spans], dimension),
        *_parts("passage", state.passages, state),
        *_vectors("passage", [row.vector for row in state.passages], dimension),
        *_parts("sentence", state.sentences, state),
        *_vectors("sentence", [row.vector for row in state.sentences], dimension),
    ]


def parts_outside(state: ThreadState, lengths: Mapping[int, int]) -> list[str]:
    """Returns passages and sentences that are not inside their turns, whose lengths are given."""
    kinds: dict[str, Sequence[PassageRow | SentenceRow]] = {
        "passage": state.passages,
        "sentence": state.sentences,
    }
    return [
        _outside(what, row)
        for what, rows in kinds.items()
        for row in rows
        if not LEAST_START[what] <= row.start < lengths.get(row.turn, 0)
    ]


def require_consistent(
    location: str, thread: str, state: ThreadState, dimension: int, *, summarises: bool
) -> None:
    """Raises an error if a loaded thread does not hold together.

    Raises:
        StoreError: It does not; the message has the first problem.
    """
    for problem in inconsistencies(state, dimension, summarises=summarises):
        raise StoreError(
            f"{location} is damaged: thread {thread!r}: {problem}; restore it from a backup or an "
            "export, or save what is whole with: tsim doctor --repair"
        )


def _turns(state: ThreadState, dimension: int) -> list[str]:
    problems = _vectors("turn", state.turn_vectors, dimension)
    if any(after <= before for before, after in pairwise(state.turn_ids)):
        problems.append("its turns are out of order")
    if state.turn_ids and state.turn_ids[-1] >= state.counters.turn:
        problems.append(f"turn {state.turn_ids[-1]} is beyond the next id {state.counters.turn}")
    if state.turn_episodes != sorted(state.turn_episodes):
        problems.append("a turn belongs to an earlier episode than the turn before it")
    return problems


def _episodes(state: ThreadState, dimension: int, summarises: bool) -> list[str]:
    ids = [episode.id for episode in state.episodes]
    vectors = [episode.vector for episode in state.episodes if episode.vector is not None]
    problems = _vectors("summary", vectors, dimension)
    if ids != sorted({*state.turn_episodes}):
        problems.append("episodes and the turns' episodes do not match")
    if ids and ids[-1] >= state.counters.episode:
        problems.append(f"episode {ids[-1]} is beyond the next id {state.counters.episode}")
    closed = state.episodes[:-1] if summarises else []
    unclosed = [episode.id for episode in closed if episode.vector is None]
    problems += [f"episode {episode} is closed but has no summary" for episode in unclosed]
    return problems


def _clusters(state: ThreadState, dimension: int) -> list[str]:
    vectors = {e.id: e.vector for e in state.episodes if e.vector is not None}
    if any(len(vector) != dimension for vector in vectors.values()):
        return []  # which is a problem of the summaries
    members = {member for cluster in state.clusters for member in cluster.members}
    if members != {*vectors}:
        odd = sorted(members ^ {*vectors})
        return [f"clusters and closed episodes do not match, first at episode {odd[0]}"]
    problems = _vectors("cluster", [cluster.vector for cluster in state.clusters], dimension)
    for cluster in state.clusters:
        if cluster.id >= state.counters.cluster:
            problems.append(f"cluster {cluster.id} is beyond the next id {state.counters.cluster}")
        total = sum((vectors[member] for member in cluster.members), np.zeros(dimension))
        if cluster.total.shape != total.shape or not (
            np.abs(total - cluster.total).max() <= SUM_TOLERANCE
        ):
            problems.append(f"the centre of cluster {cluster.id} does not match its episodes")
        if not cluster.members:
            problems.append(f"cluster {cluster.id} has no episodes")
    return problems


def _spans(state: ThreadState) -> list[str]:
    turns = {*state.turn_ids}
    return [
        f"the span from turn {span.first} to {span.last} does not run from one turn of the thread "
        "to a later one"
        for span in state.spans
        if not (span.first < span.last and {span.first, span.last} <= turns)
    ]


def _parts(what: str, rows: Sequence[PassageRow | SentenceRow], state: ThreadState) -> list[str]:
    turns = {*state.turn_ids}
    keys = [(row.turn, row.start) for row in rows]
    if any(after <= before for before, after in pairwise(keys)):
        return [f"its {what}s are out of order"]
    return [
        _outside(what, row)
        for row in rows
        if row.turn not in turns or row.start < LEAST_START[what]
    ]


def _outside(what: str, row: PassageRow | SentenceRow) -> str:
    return (
        f"the {what} of turn {row.turn} at character {row.start} is not inside a turn of the thread"
    )


def _vectors(what: str, vectors: Sequence[Vector] | Vectors, dimension: int) -> list[str]:
    if any(len(vector) != dimension for vector in vectors):
        return [f"the vector of a {what} is not {dimension} wide"]
    for start in range(0, len(vectors), CHUNK):
        problem = vector_problem(np.asarray(vectors[start : start + CHUNK]))
        if problem:
            return [f"a {what} has {problem}, expected length one"]
    return []
