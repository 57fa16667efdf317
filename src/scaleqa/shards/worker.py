"""A worker: claims shards from a board and performs them until all are done."""

import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from scaleqa.backends import SharedLimiter, Stop, StoppedError
from scaleqa.errors import DataError
from scaleqa.packages import Package
from scaleqa.shards.board import Attempt, Board, Claim, Lease, free
from scaleqa.shards.performing import check, failure, perform
from scaleqa.shards.plan import Plan, Shard
from scaleqa.shards.recipe import Opened, Recipe, opened
from scaleqa.shards.vectors import sharing

# Signs of life within a lease.
BEATS = 6
POLL = 0.25


@dataclass(slots=True, kw_only=True)
class Worker:
    """Works on a board.

    Attributes:
        board: The board.
        stop: Ends it.
        name: What it is called in claims; another one for each worker.
        threads: Threads of the embedder; None for all cores.
        parent: The process without which it ends, if any.
        tell: Shows a line to the user.
        done: Shards that it has done.
        interrupted: Whether `interrupt` was called.
    """

    board: Board
    stop: Stop
    name: str = ""
    threads: int | None = None
    parent: int | None = None
    tell: Callable[[str], None] = lambda _: None
    done: int = 0
    interrupted: bool = False
    _stack: ExitStack = field(default_factory=ExitStack)
    _opened: dict[Recipe, Opened] = field(default_factory=dict)
    _packages: dict[str, Package] = field(default_factory=dict)

    def work(self) -> int:
        """Waits for a plan, and works on it until every shard has ended or it is withdrawn.

        Returns:
            How many shards it has done.

        Raises:
            DataError: This process would make other rows than planned; nothing was claimed.
            StoppedError: It was stopped.
        """
        self.name = self.name or f"worker-{secrets.token_hex(4)}"
        with self._stack:
            plan = self._first_plan()
            for one in plan.shards:
                self._check(one)
            lease = Lease(plan.lease)
            while self._current(plan):
                shard, waiting = self._next(plan, lease)
                if shard is None and not waiting:
                    break
                if shard is None or not self._tried(plan, shard):
                    self.stop.sleep(POLL)
            return self.done

    def interrupt(self) -> None:
        """Ends the work when what is being asked has its row."""
        self.interrupted = True
        self.stop.set()

    def _first_plan(self) -> Plan:
        told = False
        while True:
            plan = self.board.plan()
            if plan:
                return plan
            if not told:
                self.tell(f"waiting for a plan in {self.board.path}")
                told = True
            self.stop.sleep(POLL)

    def _current(self, plan: Plan) -> bool:
        self.stop.check()
        return not self._unwanted(plan)

    def _next(self, plan: Plan, lease: Lease) -> tuple[Shard | None, bool]:
        """Returns a shard to claim, or whether to wait for others' shards."""
        attempts, waiting = self.board.attempts(), False
        for shard in plan.shards:
            several = attempts.get(shard.id, [])
            if free(several):
                return shard, False
            last = several[-1]
            if last.end is not None:
                continue
            waiting = True
            if lease.expired(last.path, self.board.claim_of(last).beat):
                self.board.end(last, "lost")
        return None, waiting

    def _tried(self, plan: Plan, shard: Shard) -> bool:
        """Works on a shard; returns False if somebody else was quicker."""
        attempt = self.board.claim(shard, self.name, socket.gethostname())
        if attempt:
            self.tell(shard.name)
            self._attempt(plan, shard, attempt)
        return attempt is not None

    def _attempt(self, plan: Plan, shard: Shard, attempt: Attempt) -> None:
        try:
            with self._heart(plan, attempt) as note:
                files = self.board.files(attempt, shard)
                perform(shard, self._open(shard.recipe), self._loaded(shard), files, note)
        except StoppedError:
            if self.board.end(attempt, "left"):
                raise
            if not self.interrupted:
                self.stop.clear()  # given up by others, who thought that this process had died
        except Exception as error:  # noqa: BLE001 - kept as the reason
            self.board.end(attempt, *failure(error))
        except BaseException:
            self.board.end(attempt, "left")
            raise
        else:
            whole = self.board.complete(attempt, shard)
            self.done += self.board.end(attempt, "done" if whole else "lost") and whole

    @contextmanager
    def _heart(self, plan: Plan, attempt: Attempt) -> Iterator[Callable[[int, int], None]]:
        """Gives signs of life, and stops the work when it is no longer wanted."""
        claim = Claim(worker=self.name, host=socket.gethostname())
        beats, over_ = [claim], threading.Event()

        def note(done: int, _: int) -> None:
            self.stop.check()
            beats[0] = beats[0].model_copy(update={"done": done})

        def beat() -> None:
            while not over_.wait(min(1.0, plan.lease / BEATS)):
                beats[0] = beats[0].model_copy(update={"beat": beats[0].beat + 1})
                if not self.board.beat(attempt, beats[0]) or self._unwanted(plan):
                    self.stop.set()
                    return

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield note
        finally:
            over_.set()
            thread.join()

    def _unwanted(self, plan: Plan) -> bool:
        if self._orphaned():
            return True
        try:
            found = self.board.plan()
        except DataError:
            return True
        return found is None or found.id != plan.id

    def _orphaned(self) -> bool:
        orphaned = self.parent is not None and os.getppid() != self.parent
        if orphaned:
            self.tell("ending, because the process that started this one has ended")
        return orphaned

    def _check(self, shard: Shard) -> None:
        check(shard, self._open(shard.recipe), self._loaded(shard))

    def _open(self, recipe: Recipe) -> Opened:
        if recipe not in self._opened:
            rate = self.board.path / "rate"
            pace = SharedLimiter(rate, recipe.rpm, sleep=self.stop.sleep) if recipe.rpm else None
            found = opened(recipe, self.stop, pace=pace, threads=self.threads)
            own = self._stack.enter_context(found)
            self._opened[recipe] = sharing(own, self.board.path / "vectors")
        return self._opened[recipe]

    def _loaded(self, shard: Shard) -> list[Package]:
        for part in shard.parts:
            if part.package not in self._packages:
                self._packages[part.package] = self.board.package(part.package)
        return [self._packages[part.package] for part in shard.parts]
