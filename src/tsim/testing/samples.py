"""Small sample changes for the store test suite."""

import numpy as np

from tsim.state import (
    Changes,
    ClusterRow,
    Counters,
    EpisodeRow,
    PassageRow,
    SentenceRow,
    SpanRow,
    TurnRow,
)
from tsim.types import Turn
from tsim.vectors import Vector


def vector(number: int) -> Vector:
    """Returns a vector made from a number."""
    return np.array([number, 1, 1 / 3], dtype=np.float32)


def turn(number: int, episode: int = 0) -> TurnRow:
    """Returns a turn with its vector."""
    said = Turn(
        id=number,
        role="user",
        text=f"turn {number}\n\té 🦜",
        at=number / 4,
        external_id=f"é/{number}" if number % 2 else None,
        meta={"channel": "ops\n🦜", "n": number, "x": 0.1, "yes": True} if number % 3 else None,
    )
    return TurnRow(turn=said, episode=episode, vector=vector(number))


def passage(turn: int, start: int) -> PassageRow:
    """Returns a further passage of a turn."""
    return PassageRow(turn=turn, start=start, vector=vector(1000 * turn + start))


def sentence(turn: int, start: int) -> SentenceRow:
    """Returns a sentence of a turn."""
    return SentenceRow(turn=turn, start=start, vector=vector(2000 * turn + start))


def cluster(number: int, *members: int) -> ClusterRow:
    """Returns a cluster of the given episodes."""
    total = np.array([number, 1 / 3, 2], dtype=np.float64)
    return ClusterRow(id=number, members=members, total=total, vector=vector(number))


def span(first: int, last: int, number: int | None = None) -> SpanRow:
    """Returns a span with a vector made from a number, by default from its turns."""
    made_from = 100 + 10 * first + last if number is None else number
    return SpanRow(first=first, last=last, vector=vector(made_from))


FIRST = Changes(
    turns=(turn(0), turn(1), turn(2, 1)),
    passages=(passage(1, 7), passage(2, 3), passage(1, 4)),
    sentences=(sentence(2, 3), sentence(1, 5), sentence(1, 0)),
    episodes=(EpisodeRow(id=0, vector=vector(9)), EpisodeRow(id=1, vector=None)),
    clusters=(cluster(0, 0),),
    joined=((0, 0),),
    spans=(span(1, 2), span(0, 2), span(0, 1)),
)
COUNTERS = Counters(turn=3, episode=2, cluster=1)
SECOND = Changes(
    turns=(turn(3, 1), turn(4, 2)),
    passages=(passage(4, 5),),
    sentences=(sentence(4, 0),),
    episodes=(EpisodeRow(id=1, vector=vector(7)), EpisodeRow(id=2, vector=None)),
    clusters=(cluster(0, 0, 1), cluster(1, 1)),
    joined=((0, 1), (1, 1)),
    spans=(span(2, 4), span(2, 3), span(0, 3)),
)
LATER = Counters(turn=5, episode=3, cluster=2)
REMOVAL = Changes(
    removed_turns=(0, 1),
    removed_episodes=(0,),
    clusters=(cluster(0, 1),),
    rewritten=(0,),
    removed_clusters=(1,),
    spans=(span(2, 4, 99),),
    removed_spans=((0, 1), (0, 2), (0, 3), (1, 2), (2, 4)),
)
