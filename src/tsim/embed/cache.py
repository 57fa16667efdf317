"""A cache of embeddings on disk.

The key is the model's identity and the text; the value is the vector. Several processes may share
one file. Lost or damaged entries are computed again.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tsim.blobs import Blobs
from tsim.codec import vector_from_bytes, vector_to_bytes
from tsim.embed.checked import CheckedEmbedder
from tsim.embed.protocol import Embedder, require_text
from tsim.vectors import Vector, Vectors, vector_problem

TABLE = "vectors"


@dataclass(slots=True)
class CacheStats:
    """Counts since the cache was opened."""

    hits: int = 0
    computed: int = 0
    damaged: int = 0


class CachedEmbedder:
    """An embedder that caches vectors on disk."""

    def __init__(self, inner: Embedder, path: Path) -> None:
        """Opens the cache file, creating it if needed; an unreadable file is renamed."""
        self.inner = inner
        self._source = CheckedEmbedder(inner)  # what is wrong is not kept either
        self.stats = CacheStats()
        self._blobs = Blobs(path, TABLE)

    @property
    def identity(self) -> str:
        """The inner embedder's identity."""
        return self._source.identity

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self._source.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages, computing only those that are not cached."""
        keys = [self._key("passage", require_text(text)) for text in texts]
        known = self._read(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            fresh = dict(zip(missing, self._source.embed(list(missing.values())), strict=True))
            self._write(fresh)
            known.update(fresh)
        self.stats.hits += len(keys) - len(missing)
        self.stats.computed += len(missing)
        rows = [known[key] for key in keys]
        return np.stack(rows) if rows else np.empty((0, self.dimension), dtype=np.float32)

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query, computing it only if it is not cached."""
        key = self._key("query", require_text(text))
        known = self._read([key])
        if key in known:
            self.stats.hits += 1
            return known[key]
        self.stats.computed += 1
        vector = self._source.embed_query(text)
        self._write({key: vector})
        return vector

    def discard(self, vectors: Sequence[bytes]) -> bool:
        """Removes vectors, given as 32-bit floats, and erases their bytes.

        Returns:
            False if others were using the cache, so that the bytes may still be in its log.
        """
        return self._blobs.remove(vectors)

    def close(self) -> None:
        """Closes the file."""
        self._blobs.close()

    def _key(self, kind: str, text: str) -> bytes:
        content = "\0".join((self.identity, kind, text))
        return hashlib.sha256(content.encode()).digest()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        found: dict[bytes, Vector] = {}
        for key, blob in self._blobs.read(keys).items():
            vector = vector_from_bytes(blob) if len(blob) == 4 * self.dimension else None
            if vector is None or vector_problem(vector):
                self._blobs.damaged += 1
            else:
                found[key] = vector
        self.stats.damaged = self._blobs.damaged
        return found

    def _write(self, fresh: dict[bytes, Vector]) -> None:
        self._blobs.write({key: vector_to_bytes(vector) for key, vector in fresh.items()})
