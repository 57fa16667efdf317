"""Serves a desk on this machine until it is told to stop."""

import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from tsim.errors import InputError
from tsim.ports import address, listen

HOST = "127.0.0.1"


def hold(port: int, host: str = HOST) -> socket.socket:
    """Takes a port, before anything is done that would be in vain without it.

    Args:
        port: The port; 0 for a free one.
        host: The address of this machine to listen on; by default others cannot reach it.

    Raises:
        InputError: The port is in use, or the address is not of this machine.
    """
    try:
        return listen(host, port)
    except InputError:
        if not 0 <= port < 1 << 16:
            raise InputError(
                f"--port is {port}; expected 1 to 65535, or 0 for a free one"
            ) from None
        if host != HOST:
            raise
        raise InputError(
            f"port {port} is in use; choose another with --port, 0 for a free one"
        ) from None


def serve(app: ASGIApp, listening: socket.socket, *, started: Callable[[str], None]) -> None:
    """Answers requests until SIGINT or SIGTERM; those begun are finished.

    Args:
        app: The application.
        listening: A port that is held.
        started: Called with the URL as soon as connections are answered.
    """
    host, port, *_ = listening.getsockname()
    started(address(host, port))
    with suppress(KeyboardInterrupt):  # how one stops it
        make_server(app).run(sockets=[listening])


def make_server(app: ASGIApp) -> uvicorn.Server:
    """Returns a server that has not begun to answer."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)
