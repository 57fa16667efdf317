"""Consistency checks of a memory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tsim.errors import StoreError
from tsim.state import ThreadState
from tsim.store import Store
from tsim.vectors import TOLERANCE, Vector, vector_problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result of checking a memory.

    Attributes:
        threads: Number of threads checked.
        turns: Number of turns in them.
        episodes: Number of episodes in them.
        clusters: Number of clusters in them.
        spans: Number of embedded runs of turns in them.
        passages: Number of further passages of long turns in them.
        problems: The problems found.
    """

    threads: int
    turns: int
    episodes: int
    clusters: int
    spans: int = 0
    passages: int = 0
    problems: tuple[str, ...] = ()


def verify(store: Store, dimension: int, *, summarises: bool) -> Verification:
    """Checks the storage of a memory, and the threads in it.

    Args:
        store: The memory.
        dimension: Length of its vectors.
        summarises: Whether closed episodes must have a summary.
    """
    problems = [f"{store.location}: {problem}" for problem in store.check()]
    if store.read_only and store.scrub_due():
        problems.append(
            f"{store.location}: forgotten content may still be recoverable; verify the memory "
            "where it may be written to erase it"
        )
    elif store.scrub_due() and not store.scrub():
        problems.append(
            f"{store.location}: forgotten content may still be recoverable, because others are "
            "using the memory; verify again when they are done"
        )
    counts = [0, 0, 0, 0, 0]
    names = store.threads()
    for name in names:
        try:
            with store.snapshot() as reader:
                state = reader.load(name)
                turns = [turn for _, turn in reader.all_turns(name)]
        except StoreError as error:
            problems.append(f"thread {name!r}: {error}")
            continue
        sizes = (
            len(state.turn_ids),
            len(state.episodes),
            len(state.clusters),
            len(state.spans),
            len(state.passages),
        )
        counts = [count + size for count, size in zip(counts, sizes, strict=True)]
        problems += [
            f"thread {name!r}: {problem}" for problem in check(state, dimension, summarises)
        ]
        lengths = {turn.id: len(turn.text) for turn in turns}
        problems += [
            f"thread {name!r}: the passage of turn {row.turn} at character {row.start} is not "
            "inside a stored turn"
            for row in state.passages
            if not 0 < row.start < lengths.get(row.turn, 0)
        ]
        if lengths.keys() != {*state.turn_ids}:
            problems.append(f"thread {name!r}: turns and vectors do not match")
        named = Counter(turn.external_id for turn in turns if turn.external_id is not None)
        problems += [
            f"thread {name!r}: {count} turns have the external id {one!r}"
            for one, count in sorted(named.items())
            if count > 1
        ]
    return Verification(
        threads=len(names),
        turns=counts[0],
        episodes=counts[1],
        clusters=counts[2],
        spans=counts[3],
        passages=counts[4],
        problems=tuple(problems),
    )


def check(state: ThreadState, dimension: int, summarises: bool) -> list[str]:
    """Returns the problems of a thread."""
    return [
        *_turns(state, dimension),
        *_episodes(state, dimension, summarises),
        *_clusters(state, dimension),
        *_spans(state),
        *_vectors("span", [span.vector for span in state.spans], dimension),
        *_vectors("passage", [row.vector for row in state.passages], dimension),
    ]


def _turns(state: ThreadState, dimension: int) -> list[str]:
    problems: list[str] = []
    if not state.turn_ids:
        return problems
    if state.turn_vectors.shape != (len(state.turn_ids), dimension):
        problems.append(f"vectors of shape {state.turn_vectors.shape}, expected {dimension} wide")
    elif vector_problem(state.turn_vectors):
        problems.append("a turn's vector does not have length one")
    if state.turn_ids[-1] >= state.counters.turn:
        problems.append(f"turn {state.turn_ids[-1]} is beyond the next id {state.counters.turn}")
    if state.turn_episodes != sorted(state.turn_episodes):
        problems.append("a turn belongs to an earlier episode than the turn before it")
    return problems


def _episodes(state: ThreadState, dimension: int, summarises: bool) -> list[str]:
    problems = []
    ids = [episode.id for episode in state.episodes]
    if ids != sorted({*state.turn_episodes}):
        problems.append("episodes and the turns' episodes do not match")
    if ids and ids[-1] >= state.counters.episode:
        problems.append(f"episode {ids[-1]} is beyond the next id {state.counters.episode}")
    vectors = [episode.vector for episode in state.episodes if episode.vector is not None]
    if any(len(vector) != dimension for vector in vectors):
        problems.append(f"a summary vector is not {dimension} wide")
    elif vectors and vector_problem(np.stack(vectors)):
        problems.append("a summary vector does not have length one")
    closed = state.episodes[:-1] if summarises else []
    unclosed = [episode.id for episode in closed if episode.vector is None]
    problems += [f"episode {episode} is closed but has no summary" for episode in unclosed]
    return problems


def _clusters(state: ThreadState, dimension: int) -> list[str]:
    problems = []
    vectors = {e.id: e.vector for e in state.episodes if e.vector is not None}
    members = {member for cluster in state.clusters for member in cluster.members}
    if members != {*vectors}:
        odd = sorted(members ^ {*vectors})
        problems.append(f"clusters and closed episodes do not match, first at episode {odd[0]}")
        return problems
    for cluster in state.clusters:
        if cluster.id >= state.counters.cluster:
            problems.append(f"cluster {cluster.id} is beyond the next id {state.counters.cluster}")
        total = np.sum(np.stack([vectors[m] for m in cluster.members]), axis=0, dtype=np.float64)
        if cluster.total.shape != (dimension,) or np.abs(total - cluster.total).max() > TOLERANCE:
            problems.append(f"the centre of cluster {cluster.id} does not match its episodes")
    return problems


def _spans(state: ThreadState) -> list[str]:
    turns = {*state.turn_ids}
    return [
        f"the span from turn {span.first} to {span.last} does not run from one stored turn to a "
        "later one"
        for span in state.spans
        if not (span.first < span.last and {span.first, span.last} <= turns)
    ]


def _vectors(what: str, vectors: Sequence[Vector], dimension: int) -> list[str]:
    if any(len(vector) != dimension for vector in vectors):
        return [f"a {what}'s vector is not {dimension} wide"]
    if vectors and vector_problem(np.stack(vectors)):
        return [f"a {what}'s vector does not have length one"]
    return []
