"""Options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

from tsim.errors import InputError

MemoryPath = Annotated[
    Path, typer.Option("--memory", "-m", help="The memory file.", envvar="TSIM_MEMORY")
]
ThreadName = Annotated[str, typer.Option("--thread", "-t", help="The thread.")]
Model = Annotated[
    str | None, typer.Option(help="Model name, directory, or URL#MODEL.", show_default=False)
]
PresetName = Annotated[
    str | None,
    typer.Option(help="Method of remembering.", show_default="the file's own; late for a new one"),
]


def must_exist(memory: Path) -> None:
    """Refuses to read a memory that is not there, instead of making an empty one."""
    if not memory.is_file():
        raise InputError(f"{memory} does not exist; name the memory file with --memory")


MEMORY = Path("memory.db")
THREAD = "default"
PRESET = None
