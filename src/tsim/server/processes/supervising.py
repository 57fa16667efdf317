"""Starts the processes of a server, replaces those that die, and ends them all."""

import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType

from tsim import environment, unfinished
from tsim.embed import machine_threads
from tsim.errors import InputError
from tsim.server.processes.shared import Shared
from tsim.server.processes.worker import Make, work
from tsim.server.settings import Settings

log = logging.getLogger("tsim.server")

# Seconds between two looks at the clock.
TICK = 0.2
# Seconds before the second process in a row that did not live long is replaced; doubled each time.
PAUSE, LONGEST_PAUSE = 0.5, 30.0
LONG = 60.0
# Processes in a row that end before they answer, until nothing more is tried.
ATTEMPTS = 5
# Seconds beyond those of the requests that a process has to end.
GRACE = 10.0


def supervise(
    make: Make,
    settings: Settings,
    listening: socket.socket,
    *,
    processes: int,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Answers requests by several processes until SIGINT or SIGTERM.

    Args:
        make: Makes the application in each of them; must be importable there.
        settings: The server's; its bounds are for all processes together.
        listening: The socket of the server.
        processes: How many there are.
        started: Called when all are ready.

    Raises:
        InputError: A process cannot start.
    """
    if sys.platform == "win32":
        raise InputError("several workers need file locks that this system lacks; use --workers 1")
    threads = max(1, machine_threads() // processes)
    with (
        unfinished.scratch(Path(tempfile.gettempdir())) as directory,
        environment.for_workers(directory, threads),
    ):
        shared = Shared(processes=processes, directory=directory)
        crew = _Crew(make, settings.among(processes), shared, listening)
        with crew.listening_to_signals():
            crew.run(started)


@dataclass(slots=True, eq=False)
class _Worker:
    """A process.

    Attributes:
        process: The process.
        told: What it tells.
        begun: When it was started.
        ready: Whether it answers requests.
        reason: Why it does not.
    """

    process: SpawnProcess
    told: Connection
    begun: float = field(default_factory=time.monotonic)
    ready: bool = False
    reason: str = ""

    def becomes_ready(self) -> bool:
        """Hears what it tells; returns whether it says that it is ready."""
        before = self.ready
        with suppress(EOFError, OSError):
            while self.told.poll():
                said = self.told.recv()
                self.ready = self.ready or said is None
                self.reason = said or self.reason
        return self.ready and not before

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal, unless it has ended."""
        if self.process.exitcode is None and self.process.pid is not None:
            os.kill(self.process.pid, number)

    @property
    def end(self) -> str:
        """How it ended."""
        code = self.process.exitcode or 0
        return f"signal {-code}" if code < 0 else f"exit code {code}"


class _Crew:
    def __init__(
        self, make: Make, settings: Settings, shared: Shared, listening: socket.socket
    ) -> None:
        self._make = make
        self._settings = settings
        self._shared = shared
        self._listening = listening
        self._workers: list[_Worker] = []
        self._stopping = 0.0  # until when they have time to
        self._short = 0  # how many in a row did not live long
        self._failed = 0  # how many in a row were never ready
        self._pausing = 0.0
        self._reason = ""

    def run(self, started: Callable[[], None]) -> None:
        """Keeps all processes running until it is told to stop."""
        told = False
        try:
            while self._workers or not self._stopping:
                if not self._stopping:
                    self._complete()
                self._watch()
                if not told and self._all_ready:
                    told = True
                    started()
        finally:
            for one in self._workers:
                one.process.kill()
                one.process.join()
        if self._reason:
            raise InputError(self._reason)

    @property
    def _all_ready(self) -> bool:
        ready = [one for one in self._workers if one.ready]
        return len(ready) == self._shared.processes

    def _complete(self) -> None:
        """Starts the processes that are missing, unless the last ones ended too soon."""
        while len(self._workers) < self._shared.processes and time.monotonic() >= self._pausing:
            self._workers.append(self._start())
            if self._stopping:  # since a moment ago
                self._workers[-1].send(signal.SIGTERM)
                return

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        told, parent = context.Pipe()
        process = context.Process(
            target=work,
            args=(self._make, self._settings, self._shared, self._listening, parent),
            name="tsim worker",
        )
        # Ctrl-C also goes to the processes themselves. Until they heed it, they should not die.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            process.start()
        finally:
            signal.signal(signal.SIGINT, before)
        parent.close()
        return _Worker(process, told)

    def _watch(self) -> None:
        """Waits a moment for something to happen, and takes note of who has ended."""
        wait([thing for one in self._workers for thing in (one.process.sentinel, one.told)], TICK)
        for one in [*self._workers]:
            if one.becomes_ready():
                self._failed = 0
            if one.process.exitcode is not None:
                self._workers.remove(one)
                self._bury(one)
        if self._stopping and time.monotonic() > self._stopping:
            for one in self._workers:
                one.process.kill()

    def _bury(self, one: _Worker) -> None:
        # Not before: this decides whether a process counts alone or with others.
        from prometheus_client.multiprocess import mark_process_dead

        one.process.join()
        one.told.close()
        mark_process_dead(one.process.pid, str(self._shared.directory))  # type: ignore[no-untyped-call]
        if self._stopping:
            return
        now = time.monotonic()
        self._failed += not one.ready
        self._short = 0 if now - one.begun > LONG else self._short + 1
        pause = min(LONGEST_PAUSE, PAUSE * 2 ** (self._short - 2)) if self._short > 1 else 0.0
        self._pausing = now + pause
        begun = any(other.ready for other in self._workers)
        if not one.ready and (not begun or self._failed >= ATTEMPTS):
            self._reason = one.reason or (
                f"a worker ended before it was ready ({one.end}); what it printed above says why"
            )
            self.stop(signal.SIGTERM)
            return
        why = f": {one.reason}" if one.reason else ""
        log.warning("a worker ended (%s%s); starting another", one.end, why)

    @contextmanager
    def listening_to_signals(self) -> Iterator[None]:
        """Passes signals to the processes while the block runs."""

        def heed(number: int, _: FrameType | None) -> None:
            self.stop(signal.Signals(number))

        before = {one: signal.signal(one, heed) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def stop(self, number: signal.Signals) -> None:
        """Tells all processes to finish what they have begun; told again, to end at once."""
        again = bool(self._stopping)
        if not again:
            self._stopping = time.monotonic() + self._settings.limits.drain_seconds + GRACE
            self._listening.close()
        for one in self._workers:
            # Ctrl-C went to them, too; the same signal again would end them at once.
            one.send(number if again else signal.SIGTERM)
