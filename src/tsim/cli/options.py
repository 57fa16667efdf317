"""Options shared by several commands."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tsim.errors import InputError
from tsim.store import SqliteStore

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


ReadOnly = Annotated[
    bool,
    typer.Option("--read-only", help="Write nothing, neither to the memory file nor beside it."),
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


def open_store(memory: Path, read_only: bool) -> SqliteStore:
    """Opens an existing memory file for commands that need no model."""
    must_exist(memory)
    return SqliteStore(memory, read_only=read_only)


def must_exist(memory: Path) -> None:
    """Raises an error if the memory file is missing, since opening it would create it."""
    if not memory.is_file():
        raise InputError(f"{memory} does not exist; pass an existing memory file with --memory")


MEMORY = Path("memory.db")
THREAD = "default"
PRESET = None
