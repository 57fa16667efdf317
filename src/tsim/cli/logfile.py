"""The log that `tsim add` reads: options, and what is said about it."""

import sys
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from tsim.cli.shell import say, tell
from tsim.errors import InputError
from tsim.logs import Format, Log, Problem, read_log
from tsim.types import Turn

# The exit code of a log that was added except for messages that could not be read.
INCOMPLETE = 3
# Problems that are shown; with --json all are listed.
SHOWN = 10
# Turns by which a log is recognised that was added before.
BEGINNING = 2
UNCOUNTABLE = frozenset({"audio", "media", "meta", "nested meta", "thinking"})
PLURALS = {"deleted memory": "deleted memories"}

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
        "untimed": untimed(log),
        "problems": [asdict(problem) for problem in log.problems],
    }


def untimed(log: Log) -> int:
    """Returns how many turns have no time; 0 if none of the log has one."""
    without = sum(turn.at is None for turn in log.turns)
    return without if without < len(log.turns) else 0


def say_what_was_left_out(log: Log, source: str) -> None:
    """Says what was left out of a log, and names the first messages that could not be read."""
    if log.format is Format.PARAGRAPHS and log.turns:
        say("read as plain text: each paragraph is a turn of the user")
    if log.skipped:
        say("left out:", ", ".join(counted(kind, n) for kind, n in log.skipped.items()))
    if count := untimed(log):
        say(f"without a time, unlike the others: {counted('turn', count)}")
    say_problems(log.problems, source)


def say_problems(problems: Sequence[Problem], source: str) -> None:
    """Names the first messages that could not be read."""
    for problem in problems[:SHOWN]:
        tell(f"{source}, {problem}", style="yellow")
    if len(problems) > SHOWN:
        tell(f"and {len(problems) - SHOWN} more problems; --json lists them all")


def is_there(log: Log, stored: Iterable[Turn]) -> bool:
    """Returns whether the first turns of a log, if they have no ids, are in a thread already.

    A single turn does not tell: people say the same twice.
    """
    begins = [(turn.role, turn.text, turn.at) for turn in log.turns[:BEGINNING] if not turn.id]
    if len(begins) < BEGINNING:
        return False
    seen = deque[tuple[str, str, float | None]](maxlen=BEGINNING)
    for turn in stored:
        seen.append((turn.role, turn.text, turn.at))
        if [*seen] == begins:
            return True
    return False


def counted(kind: str, count: int) -> str:
    """Returns how many there are of a kind, in words."""
    if count == 1 or kind in UNCOUNTABLE:
        return f"{count} {kind}"
    return f"{count} {PLURALS.get(kind, f'{kind}s')}"
