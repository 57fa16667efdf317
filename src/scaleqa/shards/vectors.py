"""Vectors that workers on several machines share.

The cache of each machine is a SQLite file, which must not be written by several machines. So
workers also keep vectors as files that are never changed: each has those of the texts of one call,
is written under another name and renamed into place, and is named by a hash of what is in it.
"""

import hashlib
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from scaleqa.shards.recipe import Opened
from tsim import private
from tsim.embed import Embedder
from tsim.toolkit import Vector, Vectors

KEY = 32
SUM = 32


class SharedVectors:
    """An embedder that looks for vectors in a directory before another one computes them."""

    def __init__(self, inner: Embedder, directory: Path) -> None:
        """Uses a directory, which is created if it is missing."""
        self.inner = inner
        own = hashlib.sha256(inner.identity.encode()).hexdigest()[:16]
        self._directory = private.make_directory(directory / own)
        self._known: dict[bytes, Vector] = {}
        self._read: set[str] = set()

    @property
    def identity(self) -> str:
        """The other embedder's."""
        return self.inner.identity

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages, computing only those that nobody has computed."""
        keys = [self._key("passage", text) for text in texts]
        missing = self._missing(dict(zip(keys, texts, strict=True)))
        if missing:
            fresh = self.inner.embed(list(missing.values()))
            self._keep(dict(zip(missing, fresh, strict=True)))
        rows = [self._known[key] for key in keys]
        return np.stack(rows) if rows else np.empty((0, self.dimension), dtype=np.float32)

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query; each is asked once, so nothing is shared."""
        return self.inner.embed_query(text)

    def _key(self, kind: str, text: str) -> bytes:
        return hashlib.sha256("\0".join((self.identity, kind, text)).encode()).digest()

    def _missing(self, wanted: dict[bytes, str]) -> dict[bytes, str]:
        if any(key not in self._known for key in wanted):
            self._look()
        return {key: text for key, text in wanted.items() if key not in self._known}

    def _look(self) -> None:
        """Reads the files that are new; what is damaged is computed again."""
        width = KEY + 4 * self.dimension
        found = {path.name for path in self._directory.iterdir() if path.name[0] != "."}
        for name in sorted(found - self._read):
            self._read.add(name)
            with suppress(OSError):
                content = (self._directory / name).read_bytes()
                body = content[SUM:]
                whole = hashlib.sha256(body).digest() == content[:SUM]
                for start in range(0, len(body) if whole and not len(body) % width else 0, width):
                    vector = np.frombuffer(body, np.float32, self.dimension, start + KEY)
                    self._known[body[start : start + KEY]] = vector

    def _keep(self, fresh: dict[bytes, Vector]) -> None:
        self._known |= fresh
        body = b"".join(key + v.astype("<f4").tobytes() for key, v in fresh.items())
        digest = hashlib.sha256(body)
        part = self._directory / f".{secrets.token_hex(8)}"
        part.write_bytes(digest.digest() + body)
        part.rename(self._directory / digest.hexdigest()[:32])


def sharing(found: Opened, directory: Path) -> Opened:
    """Returns the same with an embedder that shares vectors, where there is a directory of them."""
    if not directory.is_dir():
        return found
    return replace(found, embedder=SharedVectors(found.embedder, directory))
