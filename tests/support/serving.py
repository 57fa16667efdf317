"""Our server on a free port of the loopback, and memories that cost nothing to embed."""

import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import uvicorn
from fastapi import FastAPI

from tsim.server.app import create_app
from tsim.server.running import listen
from tsim.server.settings import Settings


class Words:
    """A direction for each word; a text is their sum."""

    identity = "words-32"
    dimension = 32

    def embed(self, texts):
        vectors = np.stack([self._of(text) for text in texts]) if texts else np.empty((0, 32))
        return vectors.astype(np.float32)

    def embed_query(self, text):
        return self.embed([text])[0]

    def _of(self, text):
        total = np.full(self.dimension, 0.01)
        for word in text.lower().split():
            total += np.random.default_rng(zlib.crc32(word.encode())).normal(size=self.dimension)
        return total / np.linalg.norm(total)


@contextmanager
def served(directory: Path, **settings: object) -> Iterator[tuple[str, FastAPI]]:
    """Runs a server of the memories in a directory; yields its address and the application."""
    chosen = Settings(place=directory, port=0, **settings)
    app = create_app(chosen, embedder=Words())
    listening = listen(chosen)
    config = uvicorn.Config(app, log_level="warning", lifespan="on", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", app
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
