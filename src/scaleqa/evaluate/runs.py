"""Runs of systems on packages: one at a time in a directory, and checked before anything is spent.

A run that is interrupted or fails asks nothing more: calls in flight are waited for, so that what
they cost is in the rows.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TypeAlias

from scaleqa import __version__
from scaleqa.backends import Stop, StoppedError
from scaleqa.errors import DataError
from scaleqa.evaluate.feed import Progress
from scaleqa.evaluate.lock import locked
from scaleqa.evaluate.loop import RunSettings, check_run, run_package
from scaleqa.evaluate.rowfile import first_rows
from scaleqa.evaluate.rows import Row
from scaleqa.packages import Package
from scaleqa.systems import Tools, check_systems
from tsim.embed import Embedder

# Shows the progress of what it is given the name of.
Bar: TypeAlias = Callable[[str], AbstractContextManager[Progress]]


def run_systems(
    packages: Sequence[Package],
    several: Sequence[RunSettings],
    embedder: Embedder,
    out: Path | None = None,
    *,
    workers: int = 1,
    bar: Bar | None = None,
    stop: Stop | None = None,
) -> dict[str, list[Row]]:
    """Runs systems on all packages, one after the other, and returns the rows of each in order.

    Args:
        packages: The threads and questions.
        several: How each run goes; each has another system.
        embedder: For the systems, and to compare rationales.
        out: Directory for the rows, where runs continue; None to keep them in memory alone.
        workers: Packages that are run at once.
        bar: Shows progress: turns and questions done, and how many there are.
        stop: Ends the runs; backends that were opened with it ask nothing more then.

    Raises:
        DataError: A system cannot be opened, the rows that are there belong to another run,
            another run holds the directory, or the prompt does not fit. Nothing was asked then.
    """
    show: Bar = bar or (lambda _: nullcontext(lambda done, total: None))
    found: dict[str, list[Row]] = {}
    with ExitStack() as stack:
        if out:
            stack.enter_context(locked(out))
        check_runs(packages, several, embedder, out)
        for settings in several:
            with show(settings.system) as advance:
                found[settings.system] = _run_all(
                    packages, settings, embedder, out, workers, advance, stop or Stop()
                )
    return found


def run_packages(
    packages: Sequence[Package],
    settings: RunSettings,
    embedder: Embedder,
    out: Path | None = None,
    *,
    workers: int = 1,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> list[Row]:
    """Runs one system on all packages and returns all rows in order; see `run_systems`."""
    bar: Bar | None = (lambda _: nullcontext(progress)) if progress else None
    found = run_systems(packages, [settings], embedder, out, workers=workers, bar=bar, stop=stop)
    return found[settings.system]


def check_runs(
    packages: Sequence[Package],
    several: Sequence[RunSettings],
    embedder: Embedder,
    out: Path | None,
) -> None:
    """Checks all that can be checked before the first system runs.

    Raises:
        DataError: See `run_systems`.
    """
    for settings in several:
        check_systems([settings.system], Tools(embedder=embedder, model=settings.model))
        for package in packages:
            check_run(package, settings, embedder, out)
    if out:
        _check_others(packages, out)


def _check_others(packages: Sequence[Package], out: Path) -> None:
    """Refuses to put rows beside those of other threads or another version, which do not compare.

    Raises:
        DataError: There are such rows.
    """
    hashes = {package.name: package.sha256 for package in packages}
    for path, row in first_rows(out):
        run = row.run
        if run.scaleqa not in (None, __version__):
            raise DataError(
                f"{path} was written by scaleqa {run.scaleqa:.40}, and this is {__version__}: rows "
                "of two versions do not mix; choose another --out, or go on with that version"
            )
        if run.package_sha256 not in (None, hashes.get(run.package, run.package_sha256)):
            raise DataError(
                f"{path} has rows on another package called {run.package!r:.80}: its thread, "
                "records or questions have changed since; choose another --out, or use the package "
                "that it was written with"
            )


def _run_all(
    packages: Sequence[Package],
    settings: RunSettings,
    embedder: Embedder,
    out: Path | None,
    workers: int,
    progress: Progress,
    stop: Stop,
) -> list[Row]:
    sizes = {package.name: len(package.stream) + len(package.questions) for package in packages}
    done = dict.fromkeys(sizes, 0)

    def run_one(package: Package) -> list[Row]:
        def note(count: int, _: int) -> None:
            stop.check()
            done[package.name] = count
            progress(sum(done.values()), sum(sizes.values()))

        stop.check()
        return run_package(package, settings, embedder, out, progress=note)

    if workers == 1:
        return [row for package in packages for row in run_one(package)]
    found = _at_once(packages, run_one, workers, stop)
    return [row for package in packages for row in found[package.name]]


def _at_once(
    packages: Sequence[Package],
    run_one: Callable[[Package], list[Row]],
    workers: int,
    stop: Stop,
) -> dict[str, list[Row]]:
    """Runs packages in threads, which a second interruption does not wait for."""
    left: Iterator[Package] = iter(packages)
    taking = threading.Lock()
    found: dict[str, list[Row]] = {}
    failed: list[BaseException] = []

    def work(ended: threading.Event) -> None:
        try:
            while True:
                with taking:
                    package = next(left, None)
                if package is None:
                    return
                found[package.name] = run_one(package)
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            failed.append(error)
            stop.set()
        finally:
            ended.set()

    all_ended = [threading.Event() for _ in range(workers)]
    for ended in all_ended:
        threading.Thread(target=work, args=(ended,), daemon=True).start()
    try:
        _wait_for(all_ended)
    except KeyboardInterrupt:
        stop.set()
        stop.tell("interrupted; waiting for the calls in flight (Ctrl-C again: do not wait)")
        _wait_for(all_ended)
        raise
    stop.clear()
    for error in sorted(failed, key=lambda one: isinstance(one, StoppedError)):
        raise error
    return found


def _wait_for(all_ended: Sequence[threading.Event]) -> None:
    """Waits for threads. One whose `join` is interrupted would count as ended from then on."""
    for ended in all_ended:
        ended.wait()
