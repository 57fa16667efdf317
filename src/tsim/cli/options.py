"""Options shared by several commands."""

from pathlib import Path
from typing import Annotated

import typer

from tsim.errors import InputError

MemoryPath = Annotated[
    Path, typer.Option("--memory", "-m", help="The memory file.", envvar="TSIM_MEMORY")
]
ThreadName = Annotated[str, typer.Option("--thread", "-t", help="Name of the thread.")]
Model = Annotated[
    str | None, typer.Option(help="Model name, directory, or URL#MODEL.", show_default=False)
]
PresetName = Annotated[
    str | None,
    typer.Option(help="Preset to use.", show_default="the preset of the file; late for a new file"),
]


def must_exist(memory: Path) -> None:
    """Raises an error if the memory file is missing, since opening it would create it."""
    if not memory.is_file():
        raise InputError(f"{memory} does not exist; pass an existing memory file with --memory")


MEMORY = Path("memory.db")
THREAD = "default"
PRESET = None
