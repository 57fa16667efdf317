"""Vectors of what is forgotten leave the embedder's cache, too."""

from collections.abc import Iterator

from tsim.codec import vector_to_bytes
from tsim.embed import Embedder
from tsim.embed.protocol import vector_cache
from tsim.state import ClusterRow, PassageRow, SentenceRow, SpanRow, ThreadState
from tsim.store import Store


class CachedVectors:
    """The vectors of a thread that an embedder may have in a cache; none if it has no cache.

    Vectors are compared, not texts: whatever was derived from a turn (passages, sentences, runs,
    summaries)
    is found, too.
    """

    def __init__(self, embedder: Embedder, store: Store, thread: str) -> None:
        """Reads the vectors of the thread, before something is removed from it."""
        self._cache = vector_cache(embedder)
        self._store = store
        self._thread = thread
        self._before = self._stored()

    def forget_removed(self) -> bool:
        """Removes from the cache what the thread no longer has.

        Returns:
            False if others were using the cache, so that the bytes may still be in its log.
        """
        gone = self._before - self._stored()
        return not gone or self._cache is None or self._cache.discard(sorted(gone))

    def _stored(self) -> set[bytes]:
        if self._cache is None:
            return set()
        return {*_vectors(self._store.load(self._thread))}


def _vectors(state: ThreadState) -> Iterator[bytes]:
    yield from map(vector_to_bytes, state.turn_vectors)
    rows: list[PassageRow | SentenceRow | SpanRow | ClusterRow] = [
        *state.passages,
        *state.sentences,
        *state.spans,
        *state.clusters,
    ]
    for row in rows:
        yield vector_to_bytes(row.vector)
    for episode in state.episodes:
        if episode.vector is not None:
            yield vector_to_bytes(episode.vector)
