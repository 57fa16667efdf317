"""Runs a server until it is told to stop."""

import math
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.applications import Starlette

from tsim import ports
from tsim.errors import InputError
from tsim.server.protocol import bounded
from tsim.server.settings import Settings


def listen(settings: Settings) -> socket.socket:
    """Opens the socket of a server.

    Raises:
        InputError: The address is in use, or not of this machine.
    """
    return ports.listen(settings.host, settings.port)


def serve(server: uvicorn.Server, listening: socket.socket) -> None:
    """Answers requests until SIGINT or SIGTERM; those that have begun are finished.

    Raises:
        InputError: It could not start.
    """
    _allow_files()
    server.run(sockets=[listening])
    if not server.started:
        raise InputError("the server could not start; what it printed above says why")


def make_server(
    app: Starlette,
    settings: Settings,
    started: Callable[[], None] = lambda: None,
    *,
    among: bool = False,
) -> uvicorn.Server:
    """Returns a server that has not begun to answer.

    Args:
        app: The application.
        settings: Its bounds.
        started: Called when it is ready.
        among: Whether other processes have the same socket; each takes one connection at a time
            then, so that all get some.
    """
    limits = settings.limits
    config = uvicorn.Config(
        app,
        http=bounded(limits),
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,  # addresses name threads, and threads name people
        server_header=False,
        proxy_headers=False,
        backlog=1 if among else ports.BACKLOG,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=math.ceil(limits.drain_seconds),
    )
    return _Server(config, started)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(ports.BACKLOG)  # asyncio's is also how many it takes at a time
        if self.started:
            self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            yield
            if not self.force_exit:
                self._captured_signals.clear()  # it has stopped as it was told to


def _allow_files() -> None:
    """Lets the process have as many files and connections open as it may."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on every system

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
