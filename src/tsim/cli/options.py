"""Options shared by several commands."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tsim.errors import InputError
from tsim.store import Store, exists, open_store, shown
from tsim.times import before

# Text, since a path would lose a slash of an address.
MemoryPath = Annotated[
    str,
    typer.Option(
        "--memory",
        "-m",
        metavar="PLACE",
        help="The memory file, or the address of a memory in PostgreSQL: "
        "postgresql://user@host/database#namespace.",
        envvar="TSIM_MEMORY",
    ),
]
Place = Annotated[
    Path,
    typer.Option(
        "--at",
        metavar="PLACE",
        help="The directory of a server, with one memory file for each namespace; or a memory "
        "file (.db), which is then the only namespace.",
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="ADDRESS",
        help="A PostgreSQL database that has the memories, the keys and the audit log, instead of "
        "a directory: postgresql://user@host/database. Several servers may share it.",
        envvar="TSIM_STORE",
        show_default=False,
    ),
]
ThreadName = Annotated[str, typer.Option("--thread", "-t", help="Name of the thread.")]
Model = Annotated[
    str | None, typer.Option(help="Model name, directory, or URL#MODEL.", show_default=False)
]
PresetName = Annotated[
    str | None,
    typer.Option(help="Preset to use.", show_default="the preset of the file; late for a new file"),
]
# When and by whom something was said, and when it is asked for: arguments of `Thread.search`.
Since = Annotated[
    str | None,
    typer.Option(
        help="Only turns from this time on: an ISO date or time (UTC unless it says otherwise), "
        "now, or 30min, 12h, 7d, 2w for so long ago. Turns without a time are left out."
    ),
]
Until = Annotated[
    str | None, typer.Option(help="Only turns before this time, written as for --since.")
]
Roles = Annotated[
    list[str] | None,
    typer.Option("--role", help="Only turns of this speaker; repeat it for several."),
]
Now = Annotated[
    str | None,
    typer.Option(
        help='When the query is asked, for "yesterday" and the like; written as for --since.',
        show_default="the time of the latest turn",
    ),
]
Noted = Annotated[
    list[str] | None,
    typer.Option(
        "--meta",
        metavar="NAME=VALUE",
        help="Only turns with this meta; repeat it for several. The value is JSON if it can be "
        "(3, true, null), otherwise text.",
    ),
]


def narrowed(
    since: str | None,
    until: str | None,
    roles: list[str] | None,
    meta: list[str] | None,
    now: str | None,
) -> dict[str, Any]:
    """Returns the options of a command as arguments of `Thread.search`."""
    clock = datetime.now(UTC)
    times = {"since": since, "until": until, "now": now}
    given = {name: before(text, clock) for name, text in times.items() if text is not None}
    noted = dict(map(_note, meta)) if meta else None
    return {**given, "roles": roles or None, "meta": noted}


def _note(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"--meta {text!r:.80} has no name or no value; expected NAME=VALUE")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


ReadOnly = Annotated[
    bool,
    typer.Option("--read-only", help="Write nothing to the memory file."),
]
# What stands for stdin or stdout where a file or a text is expected.
STREAM = "-"


def text_or_stdin(text: str) -> str:
    """Returns the text, or what stdin has if the text is `-`."""
    if text != STREAM:
        return text
    try:
        return sys.stdin.buffer.read().decode().strip()
    except UnicodeDecodeError as error:
        raise InputError(f"stdin is not UTF-8 (byte {error.start})") from error


def open_existing(memory: str, read_only: bool) -> Store:
    """Opens an existing memory for commands that need no model."""
    must_exist(memory)
    return open_store(memory, read_only=read_only)


def must_exist(memory: str) -> None:
    """Raises an error if there is no such memory, since opening it would create it."""
    if not exists(memory):
        raise InputError(
            f"{shown(memory)} does not exist; pass an existing memory file, or the address of a "
            "memory, with --memory"
        )


MEMORY = "memory.db"
PLACE = Path("memories")
THREAD = "default"
PRESET = None
