"""An embedder that measures what it is used for, so that its time is not counted as a system's."""

import time
from collections.abc import Sequence

from tsim.embed import Embedder
from tsim.toolkit import Vector, Vectors


class Metered:
    """Passes everything on to another embedder.

    Vectors are cached and shared by all systems: whoever comes first would pay for everybody. So
    the time spent here is taken out of a system's, and texts are counted instead.

    Attributes:
        inner: The other embedder.
        texts: Texts embedded so far.
        seconds: Time spent on them so far.
    """

    def __init__(self, inner: Embedder) -> None:
        """Starts at zero."""
        self.inner = inner
        self.texts = 0
        self.seconds = 0.0

    @property
    def identity(self) -> str:
        """The other embedder's."""
        return self.inner.identity

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages."""
        began = time.perf_counter()
        vectors = self.inner.embed(texts)
        self.seconds += time.perf_counter() - began
        self.texts += len(texts)
        return vectors

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query."""
        began = time.perf_counter()
        vector = self.inner.embed_query(text)
        self.seconds += time.perf_counter() - began
        self.texts += 1
        return vector
