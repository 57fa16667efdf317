"""`tsim export | import | doctor`: commands on a whole memory file."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tsim.cli.options import MEMORY, PRESET, MemoryPath, Model, PresetName, must_exist
from tsim.cli.shell import AsJson, failed, print_json, progress_bar
from tsim.errors import StoreError
from tsim.memory import Memory


def export(
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    memory: MemoryPath = MEMORY,
    model: Model = None,
    preset: PresetName = PRESET,
    as_json: AsJson = False,
) -> None:
    """Export a memory as JSON lines.

    Example: tsim export backup.jsonl --memory memory.db
    """
    must_exist(memory)
    with Memory.open(memory, model=model, preset=preset) as opened:
        turns = opened.export(out)
    if as_json:
        print_json({"path": str(out), "turns": turns})
    else:
        print(f"wrote {turns} turns to {out}")


def import_(
    file: Annotated[Path, typer.Argument(help="The export to read.")],
    memory: MemoryPath = MEMORY,
    model: Model = None,
    preset: PresetName = PRESET,
    as_json: AsJson = False,
) -> None:
    """Import an export into a memory with the same model and preset.

    Example: tsim import backup.jsonl --memory new.db
    """
    with Memory.open(memory, model=model, preset=preset) as opened:
        turns = opened.import_(file)
    if as_json:
        print_json({"path": str(memory), "turns": turns})
    else:
        print(f"read {turns} turns into {memory}")


def doctor(
    memory: MemoryPath = MEMORY,
    rebuild: Annotated[
        bool, typer.Option(help="Embed and index all turns again for this model and preset.")
    ] = False,
    model: Model = None,
    preset: PresetName = PRESET,
    as_json: AsJson = False,
) -> None:
    """Check a memory file and the data derived from its turns.

    Example: tsim doctor --memory memory.db
    """
    must_exist(memory)
    with (
        progress_bar("turns") as report,
        Memory.open(memory, model=model, preset=preset, rebuild=rebuild, progress=report) as opened,
    ):
        if rebuild and not opened.rebuilt:
            opened.rebuild(report)
        found = opened.verify()
    if as_json:
        print_json(asdict(found))
    else:
        for problem in found.problems:
            print(f"problem: {problem}")
        print(
            f"{found.threads} threads, {found.turns} turns, {found.episodes} episodes, "
            f"{found.clusters} clusters, {len(found.problems)} problems"
        )
    if found.problems:
        message = f"{memory} has {len(found.problems)} problems; restore it from an export"
        raise failed(StoreError(message), as_json=as_json)
