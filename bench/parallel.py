"""Runs in parallel: how much sooner several workers are done than one process, in the same run.

The rows are compared, too. Vectors are computed before anything is timed: the embedder uses all
cores already. Worker processes are timed from their start, with what they load. Efficiency is the
time of one process over that of all workers together; 1 would be perfect.

    python bench/parallel.py --jobs 1 2
    python bench/parallel.py --jobs 2 --ray
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from scaleqa.datasets import open_dataset
from scaleqa.evaluate.rowfile import row_files
from scaleqa.packages import Package
from scaleqa.shards import Asked, Executor, InProcess, Order, Processes, Recipe

SYSTEMS = "tsim:budget=150 tsim:budget=300 tsim:budget=500 tsim:budget=750 tsim_official hybrid_rrf"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", default="64k", help="length of the thread")
    parser.add_argument("--questions", type=int, default=600)
    parser.add_argument("--systems", nargs="+", default=SYSTEMS.split())
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--ray", action="store_true", help="measure a local Ray cluster, too")
    parser.add_argument("--repeat", type=int, default=1, help="take the best of so many")
    given = parser.parse_args()
    threads = open_dataset(f"scaleqa:target={given.target},subset={given.questions}").threads()
    turns = sum(len(package.stream) for package in threads)
    print(f"{given.questions} questions, {turns} turns, {len(given.systems)} systems")
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        measured(InProcess(), threads, given.systems, place / "warm", 1)
        alone, expected = measured(
            InProcess(), threads, given.systems, place / "alone", given.repeat
        )
        print(f"{'one process':22} {alone:7.1f} s")
        for jobs in given.jobs:
            for name, executor in executors(jobs, place / "work", ray=given.ray):
                took, rows = measured(
                    executor, threads, given.systems, place / f"{name} {jobs}", given.repeat
                )
                assert rows == expected, "the rows differ"
                print(
                    f"{name:10} {jobs} {'workers' if jobs > 1 else 'worker ':9} {took:7.1f} s  "
                    f"{alone / took:5.2f} times as fast, efficiency {alone / took / jobs:.2f}"
                )


def executors(jobs: int, work: Path, *, ray: bool) -> Iterator[tuple[str, Executor]]:
    yield "processes", Processes(jobs=jobs, work=work)
    if ray:
        from scaleqa.shards.ray import LOCAL, OnRay

        yield "Ray", OnRay(address=LOCAL, jobs=jobs, work=work)


def measured(
    executor: Executor, threads: list[Package], systems: list[str], out: Path, repeat: int
) -> tuple[float, list[str]]:
    """Returns the shortest time of several runs, and the rows without their times."""
    best = float("inf")
    for number in range(repeat):
        here = out / str(number)
        order = Order(
            recipe=Recipe(detail=False),
            systems=tuple(systems),
            threads=tuple((Asked(package=package, out=here),) for package in threads),
        )
        began = time.perf_counter()
        executor.run([order], quiet)
        best = min(best, time.perf_counter() - began)
    return best, [line for path in row_files(here) for line in lines(path)]


def lines(path: Path) -> Iterator[str]:
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        del row["timing"]
        yield json.dumps(row)


@contextmanager
def quiet(_: str) -> Iterator[Callable[[int, int], None]]:
    yield lambda done, total: None


if __name__ == "__main__":
    main()
