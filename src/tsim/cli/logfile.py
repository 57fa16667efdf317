"""The log that `tsim add` reads: options, and what is said about it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from tsim.cli.shell import stderr
from tsim.errors import InputError
from tsim.logs import Format, Log, read_log

# The exit code of a log that was added except for messages that could not be read.
INCOMPLETE = 3
# Problems that are shown; with --json all are listed.
SHOWN = 10
UNCOUNTABLE = frozenset({"audio", "media", "meta", "nested meta", "thinking"})

LogFormat = Annotated[
    Format | None, typer.Option(help="The kind of log.", show_default="recognised by its content")
]
Strict = Annotated[bool, typer.Option(help="Add nothing if any message cannot be read.")]
Ids = Annotated[
    bool,
    typer.Option("--ids/--no-ids", help="Keep the ids of messages, so that none is added twice."),
]


def read(file: Path | None, source: str, *, format: Format | None, strict: bool, ids: bool) -> Log:
    """Reads a log from a file or stdin.

    Raises:
        InputError: It cannot be read, or has problems and either no turns or `strict` is given.
    """
    if source == "stdin":
        data = sys.stdin.buffer.read()
    elif file is None or not file.is_file():
        raise InputError(f"{file} does not exist or is not a file")
    else:
        data = file.read_bytes()
    try:
        log = read_log(data, format=format, ids=ids)
    except InputError as error:
        raise InputError(f"{source}: {error}; nothing was added") from error
    if log.problems and (strict or not log.turns):
        more = f" (and {len(log.problems) - 1} more)" if len(log.problems) > 1 else ""
        raise InputError(f"{source}, {log.problems[0]}{more}; nothing was added")
    return log


def described(log: Log) -> dict[str, Any]:
    """Returns what --json says about a log, apart from its turns."""
    return {
        "format": log.format.value,
        "skipped": dict(log.skipped),
        "problems": [asdict(problem) for problem in log.problems],
    }


def tell(log: Log, source: str) -> None:
    """Says what was left out of a log, and names the first messages that could not be read."""
    if log.format is Format.PARAGRAPHS and log.turns:
        print("read as plain text: each paragraph is a turn of the user")
    if log.skipped:
        print("left out:", ", ".join(_counted(kind, n) for kind, n in log.skipped.items()))
    for problem in log.problems[:SHOWN]:
        stderr.print(f"{source}, {problem}", style="yellow", markup=False, soft_wrap=True)
    if len(log.problems) > SHOWN:
        stderr.print(f"and {len(log.problems) - SHOWN} more problems; --json lists them all")


def _counted(kind: str, count: int) -> str:
    return f"{count} {kind}" if count == 1 or kind in UNCOUNTABLE else f"{count} {kind}s"
