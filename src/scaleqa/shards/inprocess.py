"""This process as an executor: one run after the other, as without shards."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scaleqa.backends import Limiter, Stop
from scaleqa.errors import DataError
from scaleqa.evaluate import run_systems
from scaleqa.evaluate.rowfile import WORK
from scaleqa.evaluate.runs import Bar
from scaleqa.shards.coordinating import take_over
from scaleqa.shards.executor import Found, Order
from scaleqa.shards.recipe import opened


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
        (out,) = outs
        if out and (out / WORK).is_dir():
            take_over([order], out / WORK)
        pace = Limiter(recipe.rpm, sleep=self.stop.sleep) if recipe.rpm else None
        with opened(recipe, self.stop, pace=pace) as tools:
            several = [tools.settings(system) for system in order.systems]
            return run_systems(
                packages,
                several,
                tools.embedder,
                out,
                workers=self.workers,
                bar=bar,
                stop=self.stop,
            )
