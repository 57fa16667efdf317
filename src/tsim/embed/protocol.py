"""What the rest of the project asks of an embedder."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tsim.errors import InputError
from tsim.vectors import Vector, Vectors


class Embedder(Protocol):
    """Maps texts to unit vectors; the same text always gives the same bytes."""

    @property
    def identity(self) -> str:
        """Names model, weights and settings: equal identities mean comparable vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages, one row a text, in order."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query, with the model's query prefix where it has one."""
        ...


@runtime_checkable
class TokenEncoder(Protocol):
    """Maps texts to a vector a token: what late interaction needs."""

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Returns a matrix a text, one row a token, as the encoder left them."""
        ...


def token_encoder(embedder: object) -> TokenEncoder | None:
    """Finds what gives token vectors behind a cache or a lazy embedder; servers give none."""
    while embedder is not None and not isinstance(embedder, TokenEncoder):
        embedder = getattr(embedder, "inner", None)
    return embedder


def require_text(text: object) -> str:
    """Returns the text if it can be encoded, and says why not otherwise.

    Raises:
        InputError: Not a string, or a string with a lone surrogate, which no UTF-8 file can hold.
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
