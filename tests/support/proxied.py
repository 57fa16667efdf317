"""A real proxy on a free port of this machine, in a thread of the test's process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.hashes import Hashes
from tests.support.served import SECONDS
from tsim.embed import Embedder
from tsim.proxy.app import create_app
from tsim.proxy.settings import LIMITS, Proxied
from tsim.server import running
from tsim.server.settings import Settings

# Small, so that short conversations are long enough to be replaced.
BUDGET, RECENT = 150, 2


@contextmanager
def proxied(
    place: Path,
    upstream: str,
    *,
    embedder: Embedder | None = None,
    settings: dict[str, Any] | None = None,
    limits: dict[str, Any] | None = None,
    **given: Any,
) -> Iterator[str]:
    """Runs a proxy; yields its base URL."""
    shown = Proxied(upstream=upstream, **{"budget": BUDGET, "recent": RECENT, **given})
    bounds = replace(LIMITS, **(limits or {}))
    server_settings = Settings(
        place=place, port=0, limits=bounds, **{"keys": False, **(settings or {})}
    )
    app = create_app(server_settings, shown, embedder=embedder or Hashes())
    listening = running.listen(server_settings)
    ready = threading.Event()
    server = running.make_server(app, server_settings, ready.set)
    thread = threading.Thread(target=running.serve, args=(server, listening))
    thread.start()
    try:
        assert ready.wait(SECONDS)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        assert not thread.is_alive()
