"""`scaleqa work`: takes part in a run that shares a directory."""

import signal
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.backends import Stop, StoppedError
from scaleqa.errors import DataError
from scaleqa.shards import Worker
from scaleqa.shards.board import Board
from tsim.cli.shell import AsJson, print_json, say, tell


def work(
    directory: Annotated[
        Path, typer.Argument(help="The directory that was given as --share.", show_default=False)
    ],
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of the embedder; all cores by default.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of this worker.", hidden=True)] = "",
    parent: Annotated[
        int | None, typer.Option(help="End when this process has ended.", hidden=True)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take shards from a plan until all are done; any number of workers, on any machines.

    A plan is made by `scaleqa run`, `retrieve` or `reproduce` with --share. The directory has to be
    the same for all, by whatever path; models, extras and keys are those of this machine.

    Example: scaleqa work /mnt/shared/work
    """
    if not directory.is_dir():
        raise DataError(f"{directory} is no directory; name the one that was given as --share")
    worker = Worker(
        board=Board(directory),
        stop=Stop(),
        threads=threads,
        parent=parent,
        tell=tell,
        name=name,
    )

    def interrupt(_: int, __: object) -> None:
        if worker.interrupted:
            raise KeyboardInterrupt
        tell("ending when what is being asked has its row (again: at once)")
        worker.interrupt()

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, interrupt)
    try:
        worker.work()
    except StoppedError:
        if worker.interrupted:
            raise KeyboardInterrupt from None
        tell("the plan was withdrawn")
    if as_json:
        print_json({"shards": worker.done})
    else:
        say(f"did {worker.done} shards")
