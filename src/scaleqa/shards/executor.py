"""Executors: who does the work of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from scaleqa.evaluate import Row
from scaleqa.evaluate.runs import Bar
from scaleqa.packages import Package
from scaleqa.shards.recipe import Recipe

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
