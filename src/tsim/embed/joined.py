"""Several encoders as one: their vectors side by side.

Encoders that were trained on other data err on other texts. The cosine of joined vectors is the
mean of the encoders' cosines, so a text is near if both find it near. Joined vectors are long, but
most of their length is in few directions. Only these are kept (`tsim.embed.common`), so that a
memory is no larger, and its search no slower, than with one of the encoders.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from tsim.embed import common
from tsim.embed.models import JoinedSpec
from tsim.embed.protocol import (
    Embedder,
    TokenCounter,
    embed_queries,
    token_counter,
    token_encoder,
)
from tsim.errors import ModelError
from tsim.vectors import Vector, Vectors


class JoinedEmbedder:
    """Embeds every text with several encoders."""

    def __init__(self, spec: JoinedSpec, parts: Sequence[Embedder]) -> None:
        """Joins the embedders of the parts of a model."""
        self.identity = spec.identity
        self.dimension = spec.dimension
        self._name = spec.name
        self._parts = tuple(parts)

    @property
    def reads(self) -> int:
        """Number of tokens of a text that all encoders read."""
        return min(counter.reads for counter in self._counters)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Returns the number of tokens of each text for the encoder that needs most."""
        counts = [counter.count_tokens(texts) for counter in self._counters]
        return [max(each) for each in zip(*counts, strict=True)]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages."""
        return self._joined(lambda part: part.embed(texts))

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query."""
        row: Vector = self.embed_queries([text])[0]
        return row

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embeds search queries."""
        return self._joined(lambda part: embed_queries(part, texts))

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Returns the token vectors of the first encoder: tokens of several do not correspond."""
        encoder = token_encoder(self._parts[0])
        if encoder is None:
            raise ModelError(f"{self._parts[0].identity} gives no token vectors")
        return encoder.token_vectors(texts)

    @cached_property
    def _counters(self) -> list[TokenCounter]:
        """What counts tokens; looked for when it is needed, because that loads the encoders."""
        return [token_counter(part) for part in self._parts]

    def _joined(self, embed: Callable[[Embedder], Vectors]) -> Vectors:
        return common.project(
            np.concatenate([embed(part) for part in self._parts], axis=1), common.load(self._name)
        )
