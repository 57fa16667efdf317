"""Performing a shard: whoever works, this is how."""

import traceback
from collections.abc import Callable, Sequence

from scaleqa.errors import DataError, ScaleqaError
from scaleqa.evaluate.grading import Grading
from scaleqa.evaluate.loop import Questions, ask, run_of
from scaleqa.evaluate.rowfile import RowFile
from scaleqa.packages import Package
from scaleqa.shards.board import End, Reason
from scaleqa.shards.plan import Part, Shard
from scaleqa.shards.recipe import Opened
from scaleqa.systems import Tools, check_systems
from tsim.errors import TsimError


def check(shard: Shard, opened: Opened, packages: Sequence[Package]) -> list[Grading | None]:
    """Checks that this process would make the rows that are wanted, before it makes any.

    Args:
        shard: The shard.
        opened: What its recipe opens here.
        packages: The package of each part.

    Returns:
        How answers to the questions of each part are graded.

    Raises:
        DataError: Something differs from where the plan was made.
    """
    settings = opened.settings(shard.parts[0].run.system)
    check_systems([settings.system], Tools(embedder=opened.embedder, model=settings.model))
    gradings: list[Grading | None] = []
    for part, package in zip(shard.parts, packages, strict=True):
        reading = settings.reading
        grading = Grading(reading, package, opened.embedder) if reading else None
        _same(part, package, opened, grading)
        gradings.append(grading)
    return gradings


def perform(
    shard: Shard,
    opened: Opened,
    packages: Sequence[Package],
    files: Sequence[RowFile],
    progress: Callable[[int, int], None],
) -> None:
    """Performs a shard.

    Args:
        shard: The shard.
        opened: What its recipe opens here.
        packages: The package of each part.
        files: For the rows of each part, where the work continues.
        progress: Called with turns and questions done, and how many there are.

    Raises:
        DataError: This process would make other rows than wanted.
    """
    gradings = check(shard, opened, packages)
    several = [
        Questions(
            package=package,
            run=part.run,
            grading=grading,
            rows=rows,
            first=part.first,
            last=part.last,
        )
        for part, package, grading, rows in zip(shard.parts, packages, gradings, files, strict=True)
    ]
    ask(several, opened.settings(shard.parts[0].run.system), opened.embedder, progress)


def failure(error: Exception) -> tuple[End, Reason]:
    """Says how an attempt ends that has raised something.

    Errors of ours would be raised again wherever it is tried; anything else may be a matter of the
    machine, its memory or its disk.
    """
    if isinstance(error, ScaleqaError | TsimError):
        return "failed", Reason(kind=error.kind, message=str(error))
    last = traceback.extract_tb(error.__traceback__)[-1]
    said = f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"
    return "lost", Reason(kind="error", message=said)


def _same(part: Part, package: Package, opened: Opened, grading: Grading | None) -> None:
    own = run_of(package, opened.settings(part.run.system), opened.embedder, grading)
    if own == part.run:
        return
    ours, wanted = own.model_dump(), part.run.model_dump()
    name = next(name for name in ours if ours[name] != wanted[name])
    raise DataError(
        f"this worker would make other rows than planned: {name} is {ours[name]!r:.200}, and the "
        f"plan has {wanted[name]!r:.200}; install the same version, model and settings here"
    )
