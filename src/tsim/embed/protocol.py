"""The interface of embedders."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tsim.errors import InputError
from tsim.vectors import Vector, Vectors


class Embedder(Protocol):
    """Maps texts to unit vectors; the same text always yields the same bytes."""

    @property
    def identity(self) -> str:
        """Identifies model, weights and settings: equal identities mean comparable vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages and returns one row per text, in order."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query, with the model's query prefix if it has one."""
        ...


@runtime_checkable
class TokenEncoder(Protocol):
    """Maps texts to one vector per token, as needed for late interaction."""

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Returns one matrix per text with one row per token, as computed by the encoder."""
        ...


def token_encoder(embedder: object) -> TokenEncoder | None:
    """Unwraps cached and lazy embedders; returns None if there are no token vectors (servers)."""
    while embedder is not None and not isinstance(embedder, TokenEncoder):
        embedder = getattr(embedder, "inner", None)
    return embedder


def require_text(text: object) -> str:
    """Returns the text if it is a string that can be encoded as UTF-8.

    Raises:
        InputError: The value is not a string, or contains a lone surrogate.
    """
    if not isinstance(text, str):
        raise InputError(f"expected text, found {type(text).__name__}: {text!r:.80}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"lone surrogate U+{ord(text[error.start]):04X} at character {error.start}: the text "
            "was decoded wrongly; decode the source as UTF-8, or with errors='replace'"
        ) from error
    return text
