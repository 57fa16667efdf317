"""Arguments and options that several commands share."""

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
    typer.Option("--system", help="Comma-separated systems; options as name:key=value;key=value."),
]
EmbeddingModel = Annotated[str | None, typer.Option("--model", help="Embedding model.")]
Assist = Annotated[
    str | None,
    typer.Option(help="A chat model for systems that use one: openai:MODEL or gguf:NAME."),
]
JudgeModel = Annotated[
    str | None,
    typer.Option("--judge", help="A chat model that grades free answers, written as --assist is."),
]
Price = Annotated[
    str | None, typer.Option(help="IN,OUT: US dollars per million tokens, for the costs.")
]
Prompt = Annotated[
    str | None,
    typer.Option(help="Name of the prompt; by default the one that fits the questions."),
]
