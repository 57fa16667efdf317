"""Arguments and options shared by several commands."""

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.errors import DataError
from tsim.cli.shell import tell
from tsim.credentials import without_credentials

Threads = Annotated[
    str,
    typer.Argument(
        help="A directory of packages, or a data set such as scaleqa:target=16k,subset=80.",
        show_default=False,
    ),
]
Systems = Annotated[
    str,
    typer.Option(
        "--system", help="Comma-separated systems, with options as name:key=value;key=value."
    ),
]
Workers = Annotated[
    int, typer.Option(min=1, help="Packages run at once in threads, for servers that are slow.")
]
EmbeddingModel = Annotated[str | None, typer.Option("--model", help="Embedding model.")]
Assist = Annotated[
    str | None,
    typer.Option(help="Chat model for systems that use one, such as openai:MODEL or gguf:NAME."),
]
JudgeModel = Annotated[
    str | None,
    typer.Option("--judge", help="Chat model that grades free-text answers, such as openai:MODEL."),
]
Price = Annotated[str | None, typer.Option(help="IN,OUT: price in US dollars per million tokens.")]
Cache = Annotated[bool, typer.Option(help="Cache replies on disk.")]
PerMinute = Annotated[float | None, typer.Option(min=0.01, help="Maximum requests per minute.")]
KeyVariable = Annotated[
    str | None, typer.Option(help="Environment variable with the API key, if not OPENAI_API_KEY.")
]
Prompt = Annotated[
    str | None,
    typer.Option(help="Name of the prompt; by default the one that fits the questions."),
]
# The directories of an absolute path, which mean nothing to other people.
ABSOLUTE = re.compile(r"(?<![^=,;:])/(?:[^/,;=]+/)+")


def typed_command() -> str:
    """Returns the command as it was typed, with absolute paths by their names, and no secrets."""
    words = (ABSOLUTE.sub("", without_credentials(word)) for word in sys.argv[1:])
    return shlex.join(["scaleqa", *words])


@contextmanager
def resumable(out: Path | None) -> Iterator[None]:
    """Says where an interrupted run continues."""
    try:
        yield
    except KeyboardInterrupt:
        if out:
            tell(f"the rows so far are in {out}, and the same command continues there")
        raise


def require_writable(file: Path | None) -> None:
    """Checks that a file can be written, before what is to be in it is computed.

    Raises:
        DataError: Its directory is missing, or it is one itself.
    """
    if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
        raise DataError(f"{file} cannot be written: there is no such directory, or it is one")
