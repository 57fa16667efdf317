"""The data exchanged between engines and stores."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tsim.types import Turn
from tsim.vectors import Sum, Vector, Vectors

# The highest id of a turn, an episode or a cluster in a thread. Every store must support it.
MAX_ID = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TurnRow:
    """A turn with its vector and the episode it belongs to."""

    turn: Turn
    episode: int
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PassageRow:
    """A passage of a long turn, but not the first, whose vector is that of the turn.

    It begins at character `start` of the turn's text and ends where the next passage begins. `turn`
    and `start` are its key. The passages of a turn are written and removed with it.
    """

    turn: int
    start: int
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SentenceRow:
    """A sentence of a turn or passage that has several.

    It begins at character `start` of the turn's text and ends where the next sentence or passage
    begins. `turn` and `start` are its key. The sentences of a turn are written and removed with it.
    """

    turn: int
    start: int
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EpisodeRow:
    """An episode; it has no vector while it is open."""

    id: int
    vector: Vector | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterRow:
    """A cluster: member episodes (ascending), sum of their vectors, description vector."""

    id: int
    members: tuple[int, ...]
    total: Sum
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpanRow:
    """A run of turns that was embedded as one text; `first` and `last` are its key."""

    first: int
    last: int
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Changes:
    """Changes to a thread, which are written atomically.

    Removals are applied first, so a span that is removed and new is replaced.

    Attributes:
        turns: New turns.
        passages: Further passages of new turns.
        sentences: Sentences of new turns.
        episodes: New, closed or resummarised episodes.
        clusters: New or changed clusters.
        joined: New memberships, as (cluster, episode), of clusters that only gained members.
        rewritten: Clusters whose memberships are all rewritten.
        spans: New spans.
        removed_turns: Removed turns; their passages and sentences are removed with them.
        removed_episodes: Removed episodes.
        removed_clusters: Removed clusters.
        removed_spans: Removed spans, as (first, last).
    """

    turns: tuple[TurnRow, ...] = ()
    passages: tuple[PassageRow, ...] = ()
    sentences: tuple[SentenceRow, ...] = ()
    episodes: tuple[EpisodeRow, ...] = ()
    clusters: tuple[ClusterRow, ...] = ()
    joined: tuple[tuple[int, int], ...] = ()
    rewritten: tuple[int, ...] = ()
    spans: tuple[SpanRow, ...] = ()
    removed_turns: tuple[int, ...] = ()
    removed_episodes: tuple[int, ...] = ()
    removed_clusters: tuple[int, ...] = ()
    removed_spans: tuple[tuple[int, int], ...] = ()

    @property
    def removes(self) -> bool:
        """Whether the epoch changes and a scrub becomes due; clusters are always read whole."""
        return bool(self.removed_turns or self.removed_episodes or self.removed_spans)

    def memberships(self) -> Iterator[tuple[int, int]]:
        """Yields all memberships to insert, as (cluster, episode)."""
        yield from self.joined
        for cluster in self.clusters:
            if cluster.id in self.rewritten:
                yield from ((cluster.id, member) for member in cluster.members)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """The next ids to assign."""

    turn: int = 0
    episode: int = 0
    cluster: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThreadState:
    """The content of a thread as loaded by an engine, without the texts of closed episodes.

    Attributes:
        version: Changes with every write; 0 for a thread that does not exist yet.
        epoch: Changes when something is removed or rebuilt, but not when something is only added.
        counters: The next ids to assign.
        turn_ids: All turns, ascending.
        turn_episodes: The episode of each turn.
        turn_vectors: The vectors of the turns, one row per turn.
        episodes: All episodes, ascending.
        clusters: All clusters, ascending.
        open_turns: The turns of the open episode.
        spans: All spans, ordered by first and last turn.
        passages: Further passages of long turns, ordered by turn and start.
        sentences: Sentences of turns, ordered by turn and start.
    """

    version: int
    epoch: int
    counters: Counters
    turn_ids: list[int]
    turn_episodes: list[int]
    turn_vectors: Vectors
    episodes: list[EpisodeRow] = field(default_factory=list)
    clusters: list[ClusterRow] = field(default_factory=list)
    open_turns: list[Turn] = field(default_factory=list)
    spans: list[SpanRow] = field(default_factory=list)
    passages: list[PassageRow] = field(default_factory=list)
    sentences: list[SentenceRow] = field(default_factory=list)


EMPTY = ThreadState(
    version=0,
    epoch=0,
    counters=Counters(),
    turn_ids=[],
    turn_episodes=[],
    turn_vectors=np.empty((0, 0), dtype=np.float32),
)
