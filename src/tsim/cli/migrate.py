"""`tsim migrate`: brings the memories of other programs over."""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tsim.cli.logfile import INCOMPLETE, Strict, counted, say_problems
from tsim.cli.options import MEMORY, PRESET, MemoryPath, Model, PresetName
from tsim.cli.shell import AsJson, print_json, progress_bar, say
from tsim.errors import InputError
from tsim.memory import Memory
from tsim.migrate import Brought, Migration, bring, compare, read_source
from tsim.store import exists, open_store, shown
from tsim.stored import StoredThread
from tsim.types import Turn


def migrate(
    source: Annotated[
        Path,
        typer.Argument(
            help="The directory of a Chroma client, mem0's history.db, or the file of a LangGraph "
            "store. It is recognised by its content, and only read."
        ),
    ],
    memory: MemoryPath = MEMORY,
    thread: Annotated[
        str | None,
        typer.Option(
            "--thread",
            "-t",
            help="Put everything into this thread.",
            show_default="one for each collection or namespace",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be added.")
    ] = False,
    strict: Strict = False,
    model: Model = None,
    preset: PresetName = PRESET,
    as_json: AsJson = False,
) -> None:
    """Bring the memory of another program over. What came over before is not added again.

    What cannot be read is named and left out (exit code 3). Logs and exports of chats are read by
    tsim add.

    Example: tsim migrate ./chroma --memory memory.db --dry-run
    """
    found = read_source(source, thread=thread)
    if found.problems and (strict or not found.threads):
        more = f" (and {len(found.problems) - 1} more)" if len(found.problems) > 1 else ""
        raise InputError(f"{source}, {found.problems[0]}{more}; nothing was added")
    if dry_run:
        brought = _rehearsed(memory, found)
    else:
        with (
            Memory.open(memory, model=model, preset=preset) as opened,
            progress_bar("turns") as report,
        ):
            brought = bring(opened, found, progress=report)
    if as_json:
        problems = [asdict(problem) for problem in found.problems]
        about = {"kind": found.kind, "skipped": dict(found.skipped), "problems": problems}
        print_json({**asdict(brought), **about, "dry_run": dry_run})
    else:
        _say(found, brought, source, shown(memory), dry_run=dry_run)
    if found.problems:
        raise typer.Exit(INCOMPLETE)


def _rehearsed(memory: str, found: Migration) -> Brought:
    """Compares a migration with a memory, without a model and without changing anything."""
    if not exists(memory):
        return compare(found, lambda _: ())
    with closing(open_store(memory, read_only=True)) as store:
        there = {*store.threads()}

        def stored(name: str) -> Iterable[Turn]:
            return StoredThread(name, store) if name in there else ()

        return compare(found, stored)


def _say(found: Migration, brought: Brought, source: Path, memory: str, *, dry_run: bool) -> None:
    done = "would add" if dry_run else "added"
    for name, count in brought.added.items():
        known = brought.known[name]
        there = f"; {known} {'was' if known == 1 else 'were'} there already" if known else ""
        say(f"{done} {counted('turn', count)} to {name}{there}")
    if not found.threads:
        say(f"there is nothing to add in {source}")
    if found.skipped:
        say("left out:", ", ".join(counted(kind, n) for kind, n in found.skipped.items()))
    say(f"read as {found.kind}; {done} to {memory}" if found.threads else f"read as {found.kind}")
    say_problems(found.problems, str(source))
