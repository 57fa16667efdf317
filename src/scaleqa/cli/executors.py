"""Who does the work of a command: this process, others here, Ray, or whoever shares a directory."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.backends import Stop
from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import WORK
from scaleqa.shards import Executor, InProcess, Processes
from scaleqa.shards.processes import LEASE
from tsim import private, unfinished
from tsim.cli.shell import tell

Jobs = Annotated[
    int | None,
    typer.Option(
        min=0, help="Worker processes on this machine; 0 with --share: only those of others."
    ),
]
Share = Annotated[
    Path | None,
    typer.Option(help="Directory in which other machines take part, with scaleqa work DIRECTORY."),
]
Ray = Annotated[
    str | None,
    typer.Option(help="Address of a Ray cluster, or `local` to start one on this machine."),
]
Lease = Annotated[
    float,
    typer.Option(
        min=0.5, help="Seconds without a sign of life after which a worker counts as dead."
    ),
]
DEFAULT_LEASE = LEASE


def chosen(
    stack: ExitStack,
    out: Path | None,
    stop: Stop,
    *,
    workers: int = 1,
    jobs: int | None = None,
    share: Path | None = None,
    ray: str | None = None,
    lease: float = LEASE,
) -> Executor:
    """Chooses an executor by the options of a command.

    Args:
        stack: Removes what is made for the time of the command.
        out: Directory for the rows.
        stop: Ends runs in this process.
        workers: Threads of this process.
        jobs: Worker processes.
        share: Directory for a plan that others take part in.
        ray: Address of a Ray cluster.
        lease: Seconds after which a silent worker counts as dead.

    Raises:
        DataError: The options exclude each other.
    """
    if share is None and ray is None and jobs in (None, 1):
        return InProcess(workers=workers, stop=stop)
    if workers > 1:
        raise DataError("--workers are threads of this process; leave it out with --jobs or others")
    if share and ray:
        raise DataError("Ray carries the shards itself; leave out --share, or --ray")
    if jobs == 0 and not share:
        raise DataError("--jobs 0 starts nobody; add --share, or give the number of processes")
    if share and out and share.absolute() == out.absolute():
        raise DataError(f"{share} is for rows (--out); choose another directory for --share")
    if share:
        place = private.make_directory(share)
    elif out:
        place = out / WORK
    else:
        where = Path(tempfile.gettempdir())
        place = stack.enter_context(unfinished.scratch(where, "scaleqa-work-"))
    if ray:
        from scaleqa.shards.ray import OnRay

        return OnRay(address=ray, jobs=jobs, work=place, tell=tell)
    count = 1 if jobs is None else jobs
    return Processes(jobs=count, work=place, shared=share is not None, lease=lease, tell=tell)
