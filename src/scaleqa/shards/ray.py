"""Shards as tasks of a Ray cluster: packages go there, rows come back, nothing else is shared."""

import logging
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from scaleqa.backends import Limiter, Stop, StoppedError
from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import RowFile
from scaleqa.evaluate.rows import Row
from scaleqa.evaluate.runs import Bar
from scaleqa.packages import Package
from scaleqa.shards.board import Attempt, Board, End, Reason, over
from scaleqa.shards.coordinating import Site, run_sharded
from scaleqa.shards.executor import Found, Order
from scaleqa.shards.performing import failure, perform
from scaleqa.shards.plan import Plan, Shard
from scaleqa.shards.processes import JOINING, LEASE, POLL, require_none_failed
from scaleqa.shards.recipe import Opened, Recipe, opened
from tsim import environment, unfinished
from tsim.embed import machine_threads

LOCAL = "local"
LOOPBACK = "127.0.0.1"
# How a task ended, with the rows of each part.
Outcome: TypeAlias = tuple[End, list[list[Row]], Reason | None]
# In the processes of the cluster, which are used again: what is open, as long as they live.
_opened: dict[Recipe, Opened] = {}
_open = ExitStack()


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRay:
    """Runs shards on a Ray cluster, each as a task on one core.

    Attributes:
        address: The cluster's, or `local` to start one on this machine.
        jobs: Tasks at once; None for as many as there are cores.
        work: The directory of the board, for this process alone.
        tell: Shows a line to the user.
    """

    address: str
    jobs: int | None
    work: Path
    tell: Callable[[str], None] = lambda _: None

    def run(self, orders: Sequence[Order], bar: Bar) -> list[Found]:
        """Runs orders on the cluster."""
        _imported(self.address)  # before anything is written
        lanes = self.jobs or (machine_threads() if self.address == LOCAL else JOINING)
        return run_sharded(
            orders, Site(path=self.work, lanes=lanes, lease=LEASE), self._attend, bar
        )

    def _attend(self, board: Board, plan: Plan, note: Callable[[int], None]) -> None:
        with _connected(self.address, self.jobs) as ray:
            most = self.jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
            tasks = _Tasks(ray=ray, board=board, plan=plan, most=most)
            try:
                while tasks.go_on():
                    note(tasks.progress())
                    require_none_failed(board, plan, board.attempts())
                note(tasks.progress())
                require_none_failed(board, plan, board.attempts())
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    self.tell("interrupted; waiting for the calls in flight (Ctrl-C again: do not)")
                tasks.stop()
                raise


class _Tasks:
    """Tasks of a cluster, one for each attempt."""

    def __init__(self, *, ray: Any, board: Board, plan: Plan, most: int) -> None:
        self._ray, self._board, self._most = ray, board, most
        self._sizes = {shard.id: shard.size for shard in plan.shards}
        self._left = [*plan.shards]
        places = {part.package for shard in plan.shards for part in shard.parts}
        self._packages = {place: ray.put(board.package(place)) for place in sorted(places)}
        rpm = next((shard.recipe.rpm for shard in plan.shards if shard.recipe.rpm), None)
        again = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1}
        self._desk = ray.remote(**again)(Desk).remote(rpm)
        # A task whose process dies is tried again by us, with a number of its own.
        self._task = ray.remote(num_cpus=1, max_retries=0)(work_on)
        self._pending: dict[Any, tuple[Shard, Attempt]] = {}

    def go_on(self) -> bool:
        """Starts what can be started and takes what has ended; returns whether anything is left."""
        while self._left and len(self._pending) < self._most:
            self._start(self._left.pop(0))
        ready, _ = self._ray.wait([*self._pending], timeout=POLL) if self._pending else ([], [])
        for reference in ready:
            self._take(reference)
        return bool(self._left or self._pending)

    def progress(self) -> int:
        """Counts turns and questions that are done."""
        counts: dict[str, int] = self._ray.get(self._desk.counts.remote())
        open_ = {shard.id for shard, _ in self._pending.values()} | {one.id for one in self._left}
        done = sum(size for id_, size in self._sizes.items() if id_ not in open_)
        return done + sum(counts.get(shard.id, 0) for shard, _ in self._pending.values())

    def stop(self) -> None:
        """Ends all tasks when what they are asking has its row, and keeps their rows."""
        self._left.clear()
        while self._pending:
            self._ray.get(self._desk.stop.remote())
            self.go_on()

    def _start(self, shard: Shard) -> None:
        attempt = self._board.claim(shard, "ray", socket.gethostname())
        if attempt is None:
            raise DataError(f"somebody else works in {self._board.path}; wait until it ends")
        known = [file.rows for file in self._board.files(attempt, shard)]
        packages = [self._packages[part.package] for part in shard.parts]
        reference = self._task.remote(shard, known, self._desk, *packages)
        self._pending[reference] = (shard, attempt)

    def _take(self, reference: Any) -> None:
        shard, attempt = self._pending.pop(reference)
        try:
            end, rows, reason = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            said = str(error).strip().partition("\n")[0]
            end, rows, reason = "lost", [], Reason(kind="lost", message=said)
        if rows:
            self._board.put(attempt, rows)
        self._board.end(attempt, end, reason)
        if end == "lost" and not over(self._board.attempts()[shard.id]):
            self._left.append(shard)


class Desk:
    """What all tasks of a run ask: may they go on, and when may the next request start?"""

    def __init__(self, rpm: float | None) -> None:
        """Begins with nothing done."""
        self._limiter = Limiter(rpm) if rpm else None
        self._counts: dict[str, int] = {}
        self._stopped = False

    def note(self, shard: str, done: int) -> bool:
        """Notes how much of a shard is done; returns whether to go on."""
        self._counts[shard] = done
        return not self._stopped

    def counts(self) -> dict[str, int]:
        """Returns how much is done."""
        return self._counts

    def stop(self) -> None:
        """Ends all tasks."""
        self._stopped = True

    def take(self) -> float:
        """Takes the next turn to ask a server; returns the seconds until it comes."""
        return self._limiter.take() if self._limiter else 0.0


@dataclass(frozen=True, slots=True)
class _Pace:
    """Requests of all tasks at the pace of the desk."""

    desk: Any

    def wait(self) -> None:
        """Blocks until the next request may start."""
        import ray

        time.sleep(ray.get(self.desk.take.remote()))


def work_on(shard: Shard, known: list[list[Row]], desk: Any, *packages: Package) -> Outcome:
    """Performs a shard in a process of the cluster.

    Args:
        shard: The shard.
        known: The first rows of each part.
        desk: The desk of the run.
        packages: The package of each part.
    """
    import ray

    files = [RowFile(None) for _ in known]
    for file, rows in zip(files, known, strict=True):
        file.rows += rows
    told = [0.0]

    def note(done: int, total: int) -> None:
        if time.monotonic() - told[0] >= POLL or done == total:
            told[0] = time.monotonic()
            if not ray.get(desk.note.remote(shard.id, done)):
                raise StoppedError

    end: End = "done"
    reason = None
    try:
        perform(shard, _tools(shard.recipe, desk), packages, files, note)
    except StoppedError:
        end = "left"
    except Exception as error:  # noqa: BLE001 - kept as the reason
        end, reason = failure(error)
    return end, [file.rows for file in files], reason


def _tools(recipe: Recipe, desk: Any) -> Opened:
    """Opens a recipe once in each process."""
    if recipe not in _opened:
        pace = _Pace(desk) if recipe.rpm else None
        found = opened(recipe, Stop(), pace=pace, threads=1)
        _opened[recipe] = _open.enter_context(found)
    return _opened[recipe]


def _imported(address: str) -> Any:
    environment.keep_ray_quiet()
    if address == LOCAL:
        environment.keep_ray_here()
    try:
        import ray
    except ImportError:
        raise DataError(
            "Ray is not installed; install it with: pip install 'scaleqa[ray]'"
        ) from None
    return ray


@contextmanager
def _connected(address: str, jobs: int | None) -> Iterator[Any]:
    """Joins a cluster, or starts one on this machine that nobody else can reach."""
    ray = _imported(address)
    with ExitStack() as stack:
        settings: dict[str, Any] = {"address": address}
        if address == LOCAL:
            # Names of sockets have to be short.
            place = unfinished.scratch(Path(tempfile.gettempdir()), "sqr-")
            settings |= {
                "num_cpus": jobs,
                "include_dashboard": False,
                "_temp_dir": str(stack.enter_context(place)),
            }
        try:
            ray.init(logging_level=logging.ERROR, log_to_driver=False, **settings)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise DataError(
                f"no Ray cluster at {address} ({str(error).strip()[:200]}); give its HOST:PORT, "
                "or `local` to start one here"
            ) from error
        stack.callback(ray.shutdown)
        if address == LOCAL and ray.util.get_node_ip_address() != LOOPBACK:
            raise DataError(
                "Ray was imported before, and would take orders from other machines; start it by "
                "scaleqa alone, or give the address of a cluster"
            )
        yield ray
