"""The rows that a thread consists of in a database, with their checksums, and turns from such rows.

A row begins with its key. The columns are those of the SQLite file; other stores have the same.
"""

from collections.abc import Iterable, Mapping

from tsim.codec import meta_from_text, meta_to_text, sum_to_bytes, vector_to_bytes
from tsim.state import Changes, Counters, TurnRow
from tsim.store.checksums import checksum
from tsim.store.keys import key_of
from tsim.times import FIRST, LAST
from tsim.types import Turn


def new_rows(number: int, changes: Changes) -> dict[str, Iterable[tuple[object, ...]]]:
    """Returns the rows to write to a thread with a number, by table."""
    return {
        "turn": (_turn_row(key_of(number, row.turn.id), row) for row in changes.turns),
        "passage": (
            _summed(key_of(number, p.turn), p.start, vector_to_bytes(p.vector))
            for p in changes.passages
        ),
        "sentence": (
            _summed(key_of(number, s.turn), s.start, vector_to_bytes(s.vector))
            for s in changes.sentences
        ),
        "episode": (
            _summed(key_of(number, e.id), None if e.vector is None else vector_to_bytes(e.vector))
            for e in changes.episodes
        ),
        "cluster": (
            _summed(key_of(number, c.id), sum_to_bytes(c.total), vector_to_bytes(c.vector))
            for c in changes.clusters
        ),
        "member": (
            _summed(key_of(number, cluster), episode) for cluster, episode in changes.memberships()
        ),
        "span": (
            _summed(key_of(number, s.last), s.first, vector_to_bytes(s.vector))
            for s in changes.spans
        ),
    }


def removed_ids(changes: Changes) -> Mapping[str, tuple[int, ...]]:
    """Returns the ids whose rows are removed, by table; spans are removed by both their turns."""
    return {
        "turn": changes.removed_turns,
        "passage": changes.removed_turns,
        "sentence": changes.removed_turns,
        "episode": changes.removed_episodes,
        "cluster": changes.removed_clusters,
        "member": (*changes.removed_clusters, *changes.rewritten),
    }


def thread_sum(name: str, counters: Counters) -> int:
    """Returns the checksum of the row of a thread."""
    return checksum(name, counters.turn, counters.episode, counters.cluster)


def turn_of(  # one argument for each column
    identifier: int,
    role: str,
    at: float | None,
    text: str,
    external: str | None,
    meta: str | None,
) -> Turn:
    """Makes a turn from its row.

    Raises:
        ValueError: The row is damaged; the message says what is wrong with it.
    """
    try:
        noted = None if meta is None else meta_from_text(meta)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the meta of turn {identifier} is not JSON ({error})") from error
    if at is not None and not FIRST <= at <= LAST:
        raise ValueError(f"the time of turn {identifier} is {at}")
    return Turn(id=identifier, role=role, text=text, at=at, external_id=external, meta=noted)


def _turn_row(key: int, row: TurnRow) -> tuple[object, ...]:
    turn, vector = row.turn, vector_to_bytes(row.vector)
    at = None if turn.at is None else float(turn.at) + 0.0  # some stores know no negative zero
    meta = None if turn.meta is None else meta_to_text(turn.meta)
    said = (turn.text, turn.external_id, meta)
    words = checksum(key, turn.role, at, *said)
    return key, row.episode, turn.role, at, vector, *said, words, checksum(key, row.episode, vector)


def _summed(*values: object) -> tuple[object, ...]:
    """Returns a row with the checksum of all its values."""
    return *values, checksum(*values)
