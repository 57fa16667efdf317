"""Embeddings from any server with the OpenAI `/v1/embeddings` API."""

from collections.abc import Sequence

import httpx
import numpy as np
from pydantic import BaseModel, ValidationError

from tsim.credentials import authorization
from tsim.embed.protocol import require_text
from tsim.errors import RemoteError
from tsim.http import Patience, post, public_url
from tsim.vectors import Vector, Vectors, unit

PATIENCE = Patience()


class _Item(BaseModel):
    index: int
    embedding: list[float]


class _Answer(BaseModel):
    data: list[_Item]


class RemoteEmbedder:
    """Requests vectors from a server in batches, and retries temporary failures."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str | None = None,
        batch: int = 128,
        query_prefix: str = "",
        patience: Patience = PATIENCE,
    ) -> None:
        """Opens a client; the dimension is known after the first request.

        Args:
            base_url: The URL up to and including `/v1`.
            model: The model's name on that server.
            key: Bearer token, if the server requires one.
            batch: Maximum number of texts per request.
            query_prefix: Prepended to queries.
            patience: Timeouts and retries.

        Raises:
            InputError: The URL or the key cannot be one.
        """
        self._address = f"{base_url.rstrip('/')}/embeddings"
        self._url = public_url(self._address)
        self._model = model
        self._batch = batch
        self._prefix = query_prefix
        self._patience = patience
        self._client = httpx.Client(headers=authorization(key))
        self._dimension: int | None = None
        self.identity = f"{model}@{public_url(base_url)}"

    @property
    def dimension(self) -> int:
        """Length of each vector, requested from the server once."""
        if self._dimension is None:
            return int(self._ask(["dimension"]).shape[1])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages and returns one row per text, in order.

        Raises:
            RemoteError: The server kept failing or sent an invalid response.
        """
        checked = [require_text(text) for text in texts]
        parts = [
            self._ask(checked[start : start + self._batch])
            for start in range(0, len(checked), self._batch)
        ]
        if not parts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return np.concatenate(parts)

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query."""
        row: Vector = self.embed_queries([text])[0]
        return row

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embeds search queries, in as few requests as passages."""
        return self.embed([self._prefix + require_text(text) for text in texts])

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()

    def _ask(self, texts: list[str]) -> Vectors:
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        response = post(self._client, self._address, body, self._patience)
        try:
            items = _Answer.model_validate_json(response.content).data
        except ValidationError as error:
            raise RemoteError(
                f"{self._url} did not return embeddings, but: {response.text[:200]!r}"
            ) from error
        if sorted(item.index for item in items) != list(range(len(texts))):
            raise RemoteError(f"{self._url} returned {len(items)} vectors for {len(texts)} texts")
        rows = [item.embedding for item in sorted(items, key=lambda item: item.index)]
        if len({len(row) for row in rows} | {self._dimension or len(rows[0])}) != 1:
            raise RemoteError(f"{self._url} returned vectors of different lengths")
        with np.errstate(over="ignore"):  # what overflows is not finite
            vectors = np.array(rows, dtype=np.float32)
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise RemoteError(f"{self._url} returned a vector that is zero or not finite")
        self._dimension = vectors.shape[1]  # of all further answers
        return unit(vectors)
