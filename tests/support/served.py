"""A real server on a free port of this machine, in a thread of the test's process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.hashes import Hashes
from tsim.embed import Embedder
from tsim.server import running
from tsim.server.access import Scope
from tsim.server.access.gate import Access
from tsim.server.app import create_app
from tsim.server.settings import Settings

SECONDS = 30


@contextmanager
def served(place: Path, *, embedder: Embedder | None = None, **given: Any) -> Iterator[str]:
    """Serves memories; yields the URL of the server."""
    settings = Settings(place=place, port=0, **{"keys": False, **given})
    app = create_app(settings, embedder=embedder or Hashes())
    listening = running.listen(settings)
    ready = threading.Event()
    server = running.make_server(app, settings, ready.set)
    thread = threading.Thread(target=running.serve, args=(server, listening))
    thread.start()
    try:
        assert ready.wait(SECONDS)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        assert not thread.is_alive()


@contextmanager
def browsing(place: Path, **given: Any) -> Iterator[httpx.Client]:
    """Serves memories without keys; yields a client of the API."""
    with served(place, **given) as url, httpx.Client(base_url=url, timeout=SECONDS) as client:
        yield client


def make_key(place: Path, namespace: str | None, *scopes: Scope) -> dict[str, str]:
    """Makes a key; returns the headers that carry it."""
    with Access(Settings(place=place).access) as access:
        _, token = access.create(namespace=namespace, scopes=scopes or [*Scope])
    return {"Authorization": f"Bearer {token}"}
