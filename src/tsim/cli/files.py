"""`tsim export | import | backup | doctor`: commands on a whole memory file."""

import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tsim import environment, transfer
from tsim.cli.options import (
    MEMORY,
    PRESET,
    STREAM,
    MemoryPath,
    Model,
    PresetName,
    ReadOnly,
    must_exist,
    open_existing,
)
from tsim.cli.shell import AsJson, failed, print_json, progress_bar, say, tell
from tsim.embed import open_embedder
from tsim.embed.models import name_of
from tsim.errors import InputError, MismatchError, StoreError
from tsim.memory import Memory
from tsim.presets import find_preset
from tsim.repair import repair as mend
from tsim.store import exists, is_address, shown


def export(
    out: Annotated[Path, typer.Argument(help="The file to write; - for stdout.")],
    memory: MemoryPath = MEMORY,
    thread: Annotated[
        list[str] | None,
        typer.Option("--thread", "-t", help="Export only this thread; may be repeated."),
    ] = None,
    read_only: ReadOnly = False,
    as_json: AsJson = False,
) -> None:
    """Export a memory as JSON lines. No model is needed.

    Example: tsim export backup.jsonl --memory memory.db
    """
    streamed = str(out) == STREAM
    with closing(open_existing(memory, read_only)) as store:
        target = sys.stdout.buffer if streamed else out
        turns = transfer.export(store, target, thread or None)
    if streamed:
        tell(f"wrote {turns} turns")
    elif as_json:
        print_json({"path": str(out), "turns": turns})
    else:
        say(f"wrote {turns} turns to {out}")


def import_(
    file: Annotated[Path, typer.Argument(help="The export to read; - for stdin.")],
    memory: MemoryPath = MEMORY,
    model: Model = None,
    preset: PresetName = PRESET,
    as_json: AsJson = False,
) -> None:
    """Import an export into a memory with the same model and preset.

    Example: tsim import backup.jsonl --memory new.db
    """
    if str(file) != STREAM and not file.is_file():  # before the memory is created
        raise InputError(f"{file} does not exist or is not a file")
    # A new memory takes over the model of the export; one that exists has its own.
    if model is None and str(file) != STREAM and not exists(memory):
        model = environment.chosen_model() or name_of(transfer.head_of(file).get("model"))
    with Memory.open(memory, model=model, preset=preset) as opened:
        turns = opened.import_(sys.stdin.buffer if str(file) == STREAM else file)
    if as_json:
        print_json({"path": shown(memory), "turns": turns})
    else:
        say(f"read {turns} turns into {shown(memory)}")


def backup(
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    memory: MemoryPath = MEMORY,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it exists.")
    ] = False,
    read_only: ReadOnly = False,
    as_json: AsJson = False,
) -> None:
    """Copy a memory file while others may use it. No model is needed.

    Example: tsim backup monday.db --memory memory.db
    """
    if str(out) == STREAM:
        raise InputError(
            "a backup is a database file and cannot be written to stdout; name a file, or use: "
            "tsim export -"
        )
    with closing(open_existing(memory, read_only)) as store:
        store.backup(out, overwrite=overwrite)
    if as_json:
        print_json({"path": str(out), "bytes": out.stat().st_size})
    else:
        say(f"copied {shown(memory)} to {out}")


def doctor(
    memory: MemoryPath = MEMORY,
    rebuild: Annotated[
        bool, typer.Option(help="Embed and index all turns again for this model and preset.")
    ] = False,
    repair: Annotated[
        bool,
        typer.Option(
            help="If the file is damaged, save what is whole in its place, and keep it beside."
        ),
    ] = False,
    model: Model = None,
    preset: PresetName = PRESET,
    read_only: ReadOnly = False,
    as_json: AsJson = False,
) -> None:
    """Check a memory file and the data derived from its turns.

    Example: tsim doctor --memory memory.db
    """
    must_exist(memory)
    if repair and is_address(memory):
        raise InputError(
            "--repair is for memory files; restore a damaged database from its backups"
        )
    if repair:
        _repair(Path(memory), model, preset)
    with (
        progress_bar("turns") as report,
        Memory.open(
            memory,
            model=model,
            preset=preset,
            read_only=read_only,
            rebuild=rebuild,
            progress=report,
        ) as opened,
    ):
        if rebuild and not opened.rebuilt:
            opened.rebuild(report)
        found = opened.verify()
    if as_json:
        print_json(asdict(found))
    else:
        for problem in found.problems:
            say(f"problem: {problem}")
        say(
            f"{found.threads} threads, {found.turns} turns, {found.episodes} episodes, "
            f"{found.clusters} clusters, {len(found.problems)} problems"
        )
    if found.problems:
        message = (
            f"{shown(memory)} has {len(found.problems)} problems; restore it from a backup or an "
            "export, or save what is whole of a file with --repair"
        )
        raise failed(StoreError(message), as_json=as_json)


def _repair(path: Path, model: str | None, preset: str | None) -> None:
    """Repairs a memory file if it is damaged, and says what was saved and what was lost."""
    try:
        with Memory.open(path, model=model, preset=preset) as opened:
            if not opened.verify().problems:
                return
    except MismatchError:
        raise
    except StoreError as error:
        tell(str(error))
    with progress_bar("turns") as report:
        done = mend(
            path,
            open_embedder(model) if model else None,
            find_preset(preset) if preset else None,
            progress=report,
        )
    tell(f"saved {done.turns} turns; the damaged file is {done.damaged}")
    for name, turns in done.lost.items():
        tell(f"lost turns of {name!r}: {', '.join(map(str, turns))}")
    if done.unread:
        tell("parts of the file could not be read; there may have been other turns")
