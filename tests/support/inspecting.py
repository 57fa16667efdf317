"""An inspector to test: an embedder that sees words, keys without a database, a real server."""

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import uvicorn
from fastapi import FastAPI

from tsim.errors import KeyMissingError
from tsim.server.access import Principal, Scope
from tsim.server.inspector import router
from tsim.server.namespaces import Namespaces
from tsim.server.problems import register
from tsim.server.service import Service
from tsim.server.settings import Settings
from tsim.words import terms

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


class Keys:
    """A gate with a few keys; notes are kept as they come."""

    def __init__(self, **keys: Principal) -> None:
        self.keys = keys
        self.notes: list[tuple[str, str, dict]] = []

    def admit(self, token: str) -> Principal:
        if token not in self.keys:
            raise KeyMissingError("this needs a valid key")
        return self.keys[token]

    def note(self, principal: Principal, action: str, namespace: str, **about: object) -> None:
        self.notes.append((action, namespace, {"key": principal.key, **about}))


def key(name: str, namespace: str | None, *scopes: Scope) -> Principal:
    return Principal(namespace=namespace, scopes=frozenset(scopes), key=name)


def service_of(directory: Path, gate: Keys | None = None) -> Service:
    settings = Settings(place=directory, keys=gate is not None)
    return Service(settings, Namespaces(settings, WordEmbedder()), gate or Keys())


def app_of(service: Service) -> FastAPI:
    app = FastAPI()
    register(app)
    app.include_router(router(service))
    return app


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Runs an application on a free port; yields its address."""
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", ws="none")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise RuntimeError("the server did not start")
        thread.join(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
