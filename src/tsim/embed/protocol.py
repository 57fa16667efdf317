"""What the rest of the project asks of an embedder."""

from collections.abc import Sequence
from typing import Protocol

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
