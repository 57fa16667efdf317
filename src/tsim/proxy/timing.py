"""How long the embedding of questions takes, apart from everything else."""

import threading
import time
from collections.abc import Sequence

from tsim.embed import Embedder
from tsim.vectors import Vector, Vectors


class TimedEmbedder:
    """Adds up, for each thread of the process, how long it waited for vectors of questions."""

    def __init__(self, inner: Embedder) -> None:
        """Wraps an embedder."""
        self.inner = inner
        self._waited = threading.local()

    @property
    def identity(self) -> str:
        """The inner embedder's identity."""
        return self.inner.identity

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages."""
        return self.inner.embed(texts)

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query, and notes how long it takes."""
        begun = time.perf_counter()
        try:
            return self.inner.embed_query(text)
        finally:
            self._waited.seconds = self.waited() + time.perf_counter() - begun

    def waited(self) -> float:
        """Returns the seconds that this thread has waited so far."""
        found: float = getattr(self._waited, "seconds", 0.0)
        return found
