"""`tsim threads | turns`: what is in a memory. No model is needed."""

from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table

from tsim.cli.options import (
    MEMORY,
    THREAD,
    MemoryPath,
    ReadOnly,
    ThreadName,
    open_existing,
)
from tsim.cli.shell import AsJson, print_json, say, show
from tsim.excerpt import excerpt
from tsim.stored import StoredThread

SHOWN = 20


def threads(
    memory: MemoryPath = MEMORY, read_only: ReadOnly = False, as_json: AsJson = False
) -> None:
    """List the threads of a memory.

    Example: tsim threads --memory memory.db
    """
    with closing(open_existing(memory, read_only)) as store, store.snapshot() as reader:
        rows = [{"name": name, "turns": reader.count(name)} for name in reader.threads()]
    if as_json:
        print_json(rows)
        return
    table = Table("thread", "turns")
    for row in rows:
        table.add_row((str(row["name"])), str(row["turns"]))
    show(table)


def turns(
    memory: MemoryPath = MEMORY,
    thread: ThreadName = THREAD,
    after: Annotated[
        int | None, typer.Option(help="Only turns with higher ids than this one.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of turns.")] = SHOWN,
    read_only: ReadOnly = False,
    as_json: AsJson = False,
) -> None:
    """List the turns of a thread, a page at a time.

    Example: tsim turns --thread alice --after 19 --limit 20
    """
    with closing(open_existing(memory, read_only)) as store:
        stored = StoredThread(thread, store)
        found = stored.turns(after=after, limit=limit)
        more = bool(found and stored.turns(after=found[-1].id, limit=1))
    if as_json:
        print_json([asdict(turn) for turn in found])
        return
    table = Table("turn", "time", "text")
    for turn in found:
        table.add_row(str(turn.id), _time(turn.at), (excerpt(f"{turn.role}: {turn.text}")))
    show(table)
    if more:
        say(f"there are more; continue with --after {found[-1].id}")


def _time(at: float | None) -> str:
    """Returns a time as text; one that no calendar has as its number of seconds."""
    try:
        return "" if at is None else datetime.fromtimestamp(at, UTC).isoformat(" ")[:16]
    except (OverflowError, OSError, ValueError):
        return f"{at:g} s"
