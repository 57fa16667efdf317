"""`tsim copy`: a memory from one place to another."""

from dataclasses import asdict
from typing import Annotated

import typer

from tsim import transfer
from tsim.cli.logfile import counted
from tsim.cli.options import ReadOnly
from tsim.cli.shell import AsJson, print_json, progress_bar, say
from tsim.store import shown


def copy(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="A memory file, or the address of a memory.")
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TO", help="A new file, or the address of a memory without threads."
        ),
    ],
    read_only: ReadOnly = False,
    as_json: AsJson = False,
) -> None:
    """Copy a memory from a file to PostgreSQL or back, all of it or nothing. No model is needed.

    The copy is compared with the original. Others may use the original meanwhile.

    Example: tsim copy memory.db postgresql://alice@db.example.org/memories#alice
    """
    with progress_bar("turns") as report:
        done = transfer.copy(source, target, read_only=read_only, progress=report)
    if as_json:
        print_json({"from": shown(source), "to": shown(target), **asdict(done)})
    else:
        what = f"{counted('turn', done.turns)} in {counted('thread', done.threads)}"
        places = f"from {shown(source)} to {shown(target)}"
        say(f"copied {what} {places}; both export the same bytes")
