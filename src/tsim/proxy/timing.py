"""How long the stages of a request take, and the embedding of questions apart from the rest."""

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


class Laps:
    """The milliseconds of one stage after another.

    Attributes:
        stages: Those that have ended, by name.
    """

    def __init__(self) -> None:
        """Begins with the first stage."""
        self.stages: dict[str, float] = {}
        self._begun = time.perf_counter()

    def end(self, stage: str, *, without: float = 0.0) -> None:
        """Ends a stage, and begins the next one.

        Args:
            stage: Its name.
            without: Milliseconds in it that do not count.
        """
        now = time.perf_counter()
        self.stages[stage] = 1000 * (now - self._begun) - without
        self._begun = now
