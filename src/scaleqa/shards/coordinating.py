"""Coordinating shards: what is missing is planned, somebody sees to it, rows are put together."""

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from scaleqa.backends import Stop
from scaleqa.errors import WorkError
from scaleqa.evaluate.lock import locked
from scaleqa.evaluate.loop import check_run, check_together
from scaleqa.evaluate.rowfile import RowFile, write_rows
from scaleqa.evaluate.rows import Row, Run
from scaleqa.evaluate.runs import Bar, check_runs
from scaleqa.packages import Package
from scaleqa.shards.board import Board
from scaleqa.shards.executor import Asked, Found, Order
from scaleqa.shards.gathering import Key, assembled, by_run, gaps, key_of
from scaleqa.shards.plan import Part, Plan, Shard, cut
from scaleqa.shards.recipe import Opened, Recipe, opened

# Sees to it that all shards of a plan end; is given what tells how much is done.
Attend: TypeAlias = Callable[[Board, Plan, Callable[[int], None]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """A system on a package, and the rows that are there."""

    package: Package
    run: Run
    rows: RowFile
    key: Key

    @property
    def questions(self) -> int:
        return len(self.package.questions)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Thread:
    """A system on the packages about a thread."""

    recipe: Recipe
    system: str
    targets: tuple[_Target, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where shards are worked on.

    Attributes:
        path: The directory of the board.
        lanes: Workers that are expected.
        lease: Seconds without a sign of life after which a worker counts as dead.
        shared: Whether workers that nobody here started may be working there.
    """

    path: Path
    lanes: int
    lease: float
    shared: bool = False


def run_sharded(orders: Sequence[Order], site: Site, attend: Attend, bar: Bar) -> list[Found]:
    """Runs orders as shards, which somebody attends to; see `Executor.run`.

    However it ends, the rows so far are in the directories of the orders as far as they follow each
    other, and all others stay on the board, where the next call finds them.
    """
    with ExitStack() as stack:
        for out in _outs(orders):
            stack.enter_context(locked(out))
        stack.enter_context(locked(site.path))
        threads = [[*_threads(order, stack)] for order in orders]
        every = [thread for several in threads for thread in several]
        board = Board(site.path)
        board.forgive(alone=not site.shared)
        if site.shared:
            (site.path / "vectors").mkdir(exist_ok=True)
        plan = _planned(board, every, site)
        try:
            if plan.shards:
                packages = {_place(t): t.package for one in every for t in one.targets}
                board.publish(plan, packages)
                total = sum(shard.size for shard in plan.shards)
                with bar(f"{len(plan.shards)} shards") as advance:
                    attend(board, plan, lambda done: advance(done, total))
        finally:
            board.withdraw()
            _settle(board, every)
        _require_all(board, every, plan)
        board.clear()
        return [_found(several) for several in threads]


def take_over(orders: Sequence[Order], place: Path) -> None:
    """Takes the rows of shards that were left in the directory of a board, and removes it."""
    with ExitStack() as stack:
        for out in _outs(orders):
            stack.enter_context(locked(out))
        threads = [thread for order in orders for thread in _threads(order, stack)]
        board = Board(place)
        board.forgive(alone=True)
        _settle(board, threads)
        board.clear()


def _outs(orders: Sequence[Order]) -> list[Path]:
    outs = {one.out for order in orders for thread in order.threads for one in thread}
    return sorted(out for out in outs if out)


def _threads(order: Order, stack: ExitStack) -> Iterator[_Thread]:
    """Checks all that can be checked, and reads the rows that are there."""
    tools = stack.enter_context(opened(order.recipe, Stop()))
    several = [tools.settings(system) for system in order.systems]
    for out in {one.out for thread in order.threads for one in thread}:
        here = [one.package for thread in order.threads for one in thread if one.out == out]
        check_runs(here, several, tools.embedder, out)
    for settings in several:
        for thread in order.threads:
            if len(thread) > 1:
                check_together([one.package for one in thread], settings)
            yield _Thread(
                recipe=order.recipe,
                system=settings.system,
                targets=tuple(_target(one, tools, settings.system) for one in thread),
            )


def _target(asked: Asked, tools: Opened, system: str) -> _Target:
    run, _, rows = check_run(asked.package, tools.settings(system), tools.embedder, asked.out)
    return _Target(package=asked.package, run=run, rows=rows, key=key_of(run, tools.recipe))


def _place(target: _Target) -> str:
    """Names a package by all that is in it."""
    package = target.package
    about = (package.name, sorted(package.settings.items()), package.truth, package.noise)
    return hashlib.sha256(f"{target.run.package_sha256} {about!r}".encode()).hexdigest()[:32]


def _planned(board: Board, threads: Sequence[_Thread], site: Site) -> Plan:
    found = by_run(board.pieces())
    whole: list[Shard] = []
    for thread in threads:
        parts: list[Part] = []
        seeds: list[Row] = []
        for target in thread.targets:
            pieces = found.get(target.key, [])
            missing = gaps(target.questions, len(target.rows.rows), pieces)
            if thread.recipe.in_order:
                # Answers depend on all before them: one worker has to know them all.
                seeds = assembled(target.rows.rows, pieces)
                whole_run = [(0, target.questions)]
                missing = whole_run if len(seeds) < target.questions else []
            place = _place(target)
            parts += [
                Part(package=place, run=target.run, first=first, last=last)
                for first, last in missing
            ]
        if parts:
            whole.append(Shard(recipe=thread.recipe, parts=tuple(parts)))
            board.seed(whole[-1], seeds)
    shards = tuple(cut(whole, site.lanes))
    return Plan(id=secrets.token_hex(8), lease=site.lease, shards=shards)


def _settle(board: Board, threads: Sequence[_Thread]) -> None:
    """Writes the rows so far, as one process would have, as far as there is no gap."""
    found = by_run(board.pieces())
    for thread in threads:
        for target in thread.targets:
            rows = assembled(target.rows.rows, found.get(target.key, []))
            if target.rows.path and rows:
                target.rows.begin()
                target.rows.close()
                if rows != target.rows.rows:
                    write_rows(target.rows.path, rows)
            target.rows.rows[:] = rows


def _require_all(board: Board, threads: Sequence[_Thread], plan: Plan) -> None:
    """Checks that no row is missing.

    Raises:
        WorkError: Shards were given up.
    """
    if all(len(t.rows.rows) == t.questions for thread in threads for t in thread.targets):
        return
    attempts = board.attempts()
    for shard in plan.shards:
        lost = [one for one in attempts.get(shard.id, []) if one.end == "lost"]
        if lost:
            raise WorkError(
                f"{shard.name}: given up after {len(lost)} attempts, the last because "
                f"{board.reason_of(lost[-1]).message}; the same command tries again"
            )
    raise WorkError("the work ended before all shards were done; the same command continues")


def _found(threads: Sequence[_Thread]) -> Found:
    found: Found = {}
    for thread in threads:
        rows = found.setdefault(thread.system, [])
        for target in thread.targets:
            rows += target.rows.rows
    return found
