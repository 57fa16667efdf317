"""Embeddings from any server that speaks the OpenAI `/v1/embeddings` protocol."""

from collections.abc import Sequence

import httpx
import numpy as np
from pydantic import BaseModel, ValidationError

from tsim.embed.protocol import require_text
from tsim.errors import RemoteError
from tsim.http import Patience, post
from tsim.vectors import Vector, Vectors, unit

PATIENCE = Patience()


class _Item(BaseModel):
    index: int
    embedding: list[float]


class _Answer(BaseModel):
    data: list[_Item]


class RemoteEmbedder:
    """Asks a server for vectors, in batches, and retries what may pass."""

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
        """Opens a connection; the first request tells the dimension.

        Args:
            base_url: Up to and including `/v1`.
            model: The model's name on that server.
            key: Bearer token, where the server wants one.
            batch: Most texts in a request.
            query_prefix: Put before queries.
            patience: Timeouts and retries.
        """
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._model = model
        self._batch = batch
        self._prefix = query_prefix
        self._patience = patience
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(headers=headers)
        self._dimension: int | None = None
        self.identity = f"{model}@{base_url.rstrip('/')}"

    @property
    def dimension(self) -> int:
        """Length of each vector, asked of the server once."""
        if self._dimension is None:
            self._dimension = self._ask(["dimension"]).shape[1]
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages, one row a text, in order.

        Raises:
            RemoteError: The server kept failing or answered nonsense.
        """
        checked = [require_text(text) for text in texts]
        parts = [
            self._ask(checked[start : start + self._batch])
            for start in range(0, len(checked), self._batch)
        ]
        if not parts:
            return np.empty((0, self.dimension), dtype=np.float32)
        self._dimension = parts[0].shape[1]
        return np.concatenate(parts)

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query."""
        row: Vector = self.embed([self._prefix + text])[0]
        return row

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()

    def _ask(self, texts: list[str]) -> Vectors:
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        response = post(self._client, self._url, body, self._patience)
        try:
            items = _Answer.model_validate_json(response.content).data
        except ValidationError as error:
            raise RemoteError(
                f"{self._url} answered something else than embeddings: {response.text[:200]!r}"
            ) from error
        if sorted(item.index for item in items) != list(range(len(texts))):
            raise RemoteError(f"{self._url} returned {len(items)} vectors for {len(texts)} texts")
        rows = [item.embedding for item in sorted(items, key=lambda item: item.index)]
        if len({len(row) for row in rows} | {self._dimension or len(rows[0])}) != 1:
            raise RemoteError(f"{self._url} returned vectors of different lengths")
        vectors = np.array(rows, dtype=np.float32)
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise RemoteError(f"{self._url} returned a vector that is zero or not finite")
        return unit(vectors)
