"""Runs a server, by one process or by several."""

from collections.abc import Callable
from functools import partial

from tsim.server import running
from tsim.server.processes.shared import Shared
from tsim.server.processes.supervising import supervise
from tsim.server.processes.worker import Make
from tsim.server.settings import Settings


def run(
    make: Make,
    settings: Settings,
    *,
    processes: int = 1,
    started: Callable[[int], None] = lambda _: None,
) -> None:
    """Answers requests until SIGINT or SIGTERM; those that have begun are finished.

    Args:
        make: Makes the application in each process; must be importable there.
        settings: What the server is started with.
        processes: How many processes answer; this one alone if it is 1.
        started: Called with the port when all are ready.

    Raises:
        InputError: The address cannot be used, or a process cannot start.
    """
    if processes > 1:
        listening = running.listen(settings)
        ready = partial(started, listening.getsockname()[1])
        supervise(make, settings, listening, processes=processes, started=ready)
        return
    app = make(settings, Shared())
    listening = running.listen(settings)
    ready = partial(started, listening.getsockname()[1])
    running.serve(running.make_server(app, settings, ready), listening)
