"""Worker processes on this machine, and whoever joins them in a shared directory."""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from scaleqa.errors import WorkError
from scaleqa.evaluate.runs import Bar
from scaleqa.shards.board import MOST_LOST, Attempt, Board, over
from scaleqa.shards.coordinating import Site, run_sharded
from scaleqa.shards.executor import Found, Order
from scaleqa.shards.plan import Plan
from tsim import private
from tsim.embed import machine_threads

LEASE = 30.0
POLL = 0.25
# Workers that may join in a shared directory: runs are cut into ranges for so many.
JOINING = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """Starts worker processes on a board, and waits until all shards have ended.

    Attributes:
        jobs: How many; 0 to wait for workers that others start.
        work: The directory of the board.
        shared: Whether others may join there.
        lease: Seconds without a sign of life after which a worker counts as dead.
        tell: Shows a line to the user.
    """

    jobs: int
    work: Path
    shared: bool = False
    lease: float = LEASE
    tell: Callable[[str], None] = lambda _: None

    def run(self, orders: Sequence[Order], bar: Bar) -> list[Found]:
        """Runs orders in worker processes."""
        lanes = max(self.jobs, JOINING) if self.shared else self.jobs
        site = Site(path=self.work, lanes=lanes, lease=self.lease, shared=self.shared)
        return run_sharded(orders, site, self._attend, bar)

    def _attend(self, board: Board, plan: Plan, note: Callable[[int], None]) -> None:
        crew = _Crew(board=board, jobs=self.jobs)
        try:
            while True:
                attempts = board.attempts()
                note(progress(board, plan, attempts))
                require_none_failed(board, plan, attempts)
                left = sum(not over(attempts.get(shard.id, [])) for shard in plan.shards)
                if not left:
                    return
                crew.keep(min(self.jobs, left), attempts)
                time.sleep(POLL)
        except KeyboardInterrupt:
            self.tell("interrupted; waiting for the calls in flight (Ctrl-C again: do not wait)")
            raise
        finally:
            board.withdraw()
            crew.dismiss()


@dataclass(slots=True, kw_only=True)
class _Crew:
    """Worker processes that this process has started."""

    board: Board
    jobs: int
    idle_deaths: int = 0
    _alive: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def keep(self, count: int, attempts: Mapping[str, Sequence[Attempt]]) -> None:
        """Sees to it that so many work; what the dead had begun is free at once.

        Raises:
            WorkError: They cannot even start.
        """
        for name, process in [*self._alive.items()]:
            code = process.poll()
            if code is not None:
                del self._alive[name]
                if code:
                    self._bury(name, code, attempts)
        while len(self._alive) < count:
            self._start()

    def dismiss(self) -> None:
        """Ends all, when what they are asking has its row; a second interruption does not wait."""
        try:
            for process in self._alive.values():
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)
            for process in self._alive.values():
                process.wait()
        finally:
            for process in self._alive.values():
                if process.poll() is None:
                    process.kill()
                    process.wait()

    def _start(self) -> None:
        name = f"job-{secrets.token_hex(4)}"
        threads = max(1, machine_threads() // self.jobs)
        command = [
            sys.executable, "-m", "scaleqa", "work", str(self.board.path), "--name", name,
            "--parent", str(os.getpid()), "--threads", str(threads),
        ]  # fmt: skip
        with private.create(self._log(name)).open("wb") as log:
            # In a session of their own, an interruption reaches them through this process alone.
            self._alive[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _bury(self, name: str, code: int, attempts: Mapping[str, Sequence[Attempt]]) -> None:
        begun = [
            one
            for several in attempts.values()
            for one in several
            if one.end is None and self.board.claim_of(one).worker == name
        ]
        for one in begun:
            self.board.end(one, "lost")
        self.idle_deaths += not begun
        if not begun and (code > 0 or self.idle_deaths >= MOST_LOST):
            said = self._log(name).read_text("utf-8", errors="replace").strip().splitlines()
            last = said[-1].removeprefix("scaleqa: ") if said else f"it ended with {code}"
            raise WorkError(f"a worker process cannot work: {last}")

    def _log(self, name: str) -> Path:
        return self.board.path / "workers" / f"{name}.log"


def progress(board: Board, plan: Plan, attempts: Mapping[str, Sequence[Attempt]]) -> int:
    """Counts turns and questions that are done, of finished shards and of those being worked on."""
    done = 0
    for shard in plan.shards:
        several = attempts.get(shard.id, [])
        if any(one.end == "done" for one in several):
            done += shard.size
        elif several and several[-1].end is None:
            done += board.claim_of(several[-1]).done
    return done


def require_none_failed(
    board: Board, plan: Plan, attempts: Mapping[str, Sequence[Attempt]]
) -> None:
    """Ends a run when a shard has failed for a reason that another attempt would not change.

    Raises:
        WorkError: One has.
    """
    for shard in plan.shards:
        for one in attempts.get(shard.id, []):
            if one.end == "failed":
                raise WorkError(f"{shard.name}: {board.reason_of(one).message}")
