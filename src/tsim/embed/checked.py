"""The one place where vectors of any embedder enter a memory.

An embedder may be of another program, a server, or a cache that was damaged. A vector that is not
finite or not of length one would be stored, and spoil every search that meets it.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tsim.embed.protocol import Embedder
from tsim.errors import ModelError
from tsim.vectors import Vector, Vectors, vector_problem


class CheckedEmbedder:
    """An embedder whose vectors are what they should be, or an error."""

    def __init__(self, inner: Embedder) -> None:
        """Wraps an embedder.

        Raises:
            ModelError: It has no identity.
        """
        self.inner = inner
        identity: object = getattr(inner, "identity", None)
        if not isinstance(identity, str) or not identity.strip():
            raise ModelError(
                f"the embedder has the identity {identity!r:.80}, expected text that names its "
                "model, weights and settings"
            )
        self.identity = identity

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        found: object = self.inner.dimension
        if isinstance(found, bool) or not isinstance(found, int | np.integer) or found < 1:
            raise ModelError(
                f"{self.identity} has the dimension {found!r:.80}, expected a whole number above 0"
            )
        return int(found)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages and returns one row per text, in order.

        Raises:
            ModelError: The embedder returned something else.
        """
        return self._checked(self.inner.embed(texts), (len(texts), self.dimension))

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query.

        Raises:
            ModelError: The embedder returned something else than a vector.
        """
        return self._checked(self.inner.embed_query(text), (self.dimension,))

    def _checked(self, found: object, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        try:
            with np.errstate(over="ignore"):  # what overflows is not finite
                vectors = np.asarray(found, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise self._refused(f"a {type(found).__name__} that holds no vectors", shape) from error
        if vectors.shape != shape:
            raise self._refused(f"an array of shape {vectors.shape}", shape)
        problem = vector_problem(vectors)
        if problem:
            raise self._refused(problem, shape)
        return vectors

    def _refused(self, what: str, shape: tuple[int, ...]) -> ModelError:
        wanted = f"{shape[0]} vectors of {shape[1]} numbers" if len(shape) > 1 else "a vector"
        return ModelError(
            f"{self.identity} returned {what}, expected {wanted}, finite and of length 1; "
            "nothing was stored; mend the embedder, or clear its cache"
        )
