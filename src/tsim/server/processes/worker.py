"""One process of several: answers requests until it is told to stop, or is alone."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import TypeAlias

import uvicorn
from fastapi import FastAPI

from tsim.errors import TsimError
from tsim.server import running
from tsim.server.processes.shared import Shared
from tsim.server.settings import Settings

# Makes the application of a process; goes to another process, so it must be importable.
Make: TypeAlias = Callable[[Settings, Shared], FastAPI]


def work(
    make: Make, settings: Settings, shared: Shared, listening: socket.socket, parent: Connection
) -> None:
    """Answers requests; sends None when it is ready, or why it cannot be.

    Args:
        make: Makes the application.
        settings: The server's, with the bounds of this process.
        shared: What all processes share.
        listening: The socket that they share.
        parent: Closed by the system when whoever started this process has ended.
    """
    try:
        app = make(settings, shared)
        server = running.make_server(app, settings, partial(parent.send, None), among=True)
        threading.Thread(target=_stop_alone, args=(parent, server), daemon=True).start()
        running.serve(server, listening)
    except TsimError as error:
        with suppress(OSError):
            parent.send(str(error))
        raise SystemExit(1) from None


def _stop_alone(parent: Connection, server: uvicorn.Server) -> None:
    """Waits until there is no parent any more: nobody would end or restart what goes on then."""
    with suppress(EOFError, OSError):
        parent.recv()  # nothing is ever sent
    server.should_exit = True
