"""Executors: who does the work of a run. Today's process is one, others are beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from scaleqa.backends import Limiter, Stop
from scaleqa.errors import DataError
from scaleqa.evaluate import Row, run_systems
from scaleqa.evaluate.runs import Bar
from scaleqa.packages import Package
from scaleqa.shards.recipe import Recipe, opened

Found: TypeAlias = dict[str, list[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A package whose questions are asked, and the directory for its rows.

    Attributes:
        package: The package.
        out: Where rows are kept and runs continue; None to keep them in memory alone.
    """

    package: Package
    out: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Systems to be run.

    Attributes:
        recipe: What the runs are made with.
        systems: Names and options of the systems.
        threads: For each thread, the packages that are about it; several for retrieval alone.
    """

    recipe: Recipe
    systems: tuple[str, ...]
    threads: tuple[tuple[Asked, ...], ...]


class Executor(Protocol):
    """Runs orders. Rows are the same, whoever does, apart from their times."""

    def run(self, orders: Sequence[Order], bar: Bar) -> list[Found]:
        """Runs systems on packages.

        Args:
            orders: What is to be run; what has rows is not run again.
            bar: Shows progress: turns and questions done, and how many there are.

        Returns:
            For each order, the rows of each system, in the order of threads and packages.

        Raises:
            DataError: Something is wrong with an order; nothing was run.
            WorkError: A worker failed.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcess:
    """Runs systems one after the other in this process.

    Attributes:
        workers: Packages that are run at once, in threads.
        stop: Ends the runs.
    """

    workers: int = 1
    stop: Stop = field(default_factory=Stop)

    def run(self, orders: Sequence[Order], bar: Bar) -> list[Found]:
        """Runs orders whose threads have one package each."""
        return [self._run(order, bar) for order in orders]

    def _run(self, order: Order, bar: Bar) -> Found:
        recipe, outs = order.recipe, {one.out for thread in order.threads for one in thread}
        if len(outs) != 1 or any(len(thread) != 1 for thread in order.threads):
            raise DataError(
                "packages that share a thread or have different directories need shards"
            )
        packages = [one.package for (one,) in order.threads]
        pace = Limiter(recipe.rpm, sleep=self.stop.sleep) if recipe.rpm else None
        with opened(recipe, self.stop, pace=pace) as tools:
            several = [tools.settings(system) for system in order.systems]
            (out,) = outs
            return run_systems(
                packages,
                several,
                tools.embedder,
                out,
                workers=self.workers,
                bar=bar,
                stop=self.stop,
            )
