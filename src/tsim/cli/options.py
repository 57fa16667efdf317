"""Options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

MemoryPath = Annotated[
    Path, typer.Option("--memory", "-m", help="The memory file.", envvar="TSIM_MEMORY")
]
ThreadName = Annotated[str, typer.Option("--thread", "-t", help="The thread.")]
Model = Annotated[
    str | None, typer.Option(help="Model name, directory, or URL#MODEL.", show_default=False)
]
PresetName = Annotated[str, typer.Option(help="Method of remembering.")]

MEMORY = Path("memory.db")
THREAD = "default"
PRESET = "official"
