"""The interface of embedders."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

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
class QueryEmbedder(Protocol):
    """Embeds several search queries in one pass."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embeds search queries and returns one row per text, in order."""
        ...


@runtime_checkable
class TokenEncoder(Protocol):
    """Maps texts to one vector per token, as needed for late interaction."""

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Returns one matrix per text with one row per token, as computed by the encoder."""
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """Knows how much of a text an encoder reads."""

    @property
    def reads(self) -> int:
        """Number of tokens that the encoder reads of a text, without special tokens."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Returns the number of tokens of each text, without special tokens."""
        ...


@runtime_checkable
class VectorCache(Protocol):
    """Keeps vectors, and can be told to forget them."""

    def discard(self, vectors: Sequence[bytes]) -> bool:
        """Removes vectors, given as 32-bit floats, and erases their bytes.

        Returns:
            False if others were using the cache, so that the bytes may still be in its log.
        """
        ...


class TokenEstimate:
    """The counter for embedders that have none: servers, and embedders of other programs.

    512 tokens are what most encoders read, and three bytes per token more tokens than most
    tokenizers make of a text.
    """

    reads = 512

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Estimates the number of tokens of each text from its length in UTF-8."""
        return [-(-len(text.encode()) // 3) for text in texts]


def token_counter(embedder: object) -> TokenCounter:
    """Returns the counter of an embedder, unwrapping cached and lazy ones, or an estimate."""
    while embedder is not None and not isinstance(embedder, TokenCounter):
        embedder = getattr(embedder, "inner", None)
    return embedder or TokenEstimate()


def token_encoder(embedder: object) -> TokenEncoder | None:
    """Unwraps cached and lazy embedders; returns None if there are no token vectors (servers)."""
    while embedder is not None and not isinstance(embedder, TokenEncoder):
        embedder = getattr(embedder, "inner", None)
    return embedder


def vector_cache(embedder: object) -> VectorCache | None:
    """Returns the cache of an embedder, unwrapping others; None if it has none that is known."""
    while embedder is not None and not isinstance(embedder, VectorCache):
        embedder = getattr(embedder, "inner", None)
    return embedder


def embed_queries(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Embeds search queries, in one pass if the embedder can."""
    if isinstance(embedder, QueryEmbedder):
        return embedder.embed_queries(texts)
    return np.stack([embedder.embed_query(text) for text in texts])


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
