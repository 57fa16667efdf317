"""The pages of a server, to be asked for without a network; an embedder that sees words."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from fastapi.testclient import TestClient

from tsim.server.app import create_app
from tsim.server.service import Service
from tsim.server.settings import Settings
from tsim.words import terms

HOME = "http://127.0.0.1:8765"
DIMENSION = 96


class WordEmbedder:
    """Texts are alike if they share words."""

    identity = "words/1"
    dimension = DIMENSION

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.stack([self._row(text[:20_000]) for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def embed_query(self, text: str) -> np.ndarray:
        return self.embed([text])[0]

    def _row(self, text: str) -> np.ndarray:
        row = np.full(DIMENSION, 0.01)
        for word in terms(text):
            row[hashlib.sha256(word.encode()).digest()[0] % DIMENSION] += 1
        return row


@contextmanager
def opened(directory: Path, *, keys: bool = False) -> Iterator[tuple[Service, TestClient]]:
    """Opens the application; yields what its parts share, and a client."""
    app = create_app(Settings(place=directory, keys=keys), embedder=WordEmbedder())
    with TestClient(app, base_url=HOME) as client:
        yield app.state.service, client
