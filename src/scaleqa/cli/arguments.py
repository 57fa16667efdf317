"""Arguments and options shared by several commands."""

import re
import shlex
import sys
from typing import Annotated

import typer

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
Prompt = Annotated[
    str | None,
    typer.Option(help="Name of the prompt; by default the one that fits the questions."),
]
# The directories of an absolute path, which mean nothing to other people.
ABSOLUTE = re.compile(r"(?<![^=,;:])/(?:[^/,;=]+/)+")


def typed_command() -> str:
    """Returns the command as it was typed, with absolute paths by their names alone."""
    return shlex.join(["scaleqa", *(ABSOLUTE.sub("", word) for word in sys.argv[1:])])
