"""The `tsim` command: one module per noun, registered here."""

from typing import Annotated

import typer

from tsim import __version__
from tsim.cli import (
    cache,
    copies,
    files,
    forget,
    keys,
    listings,
    mcp,
    migrate,
    models,
    proxy,
    serve,
    turns,
)
from tsim.cli.shell import run, say

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Episodic memory for endless conversations.\n\nExample: tsim add chat.jsonl",
)
for command in (
    turns.add,
    turns.search,
    turns.context,
    turns.episodes,
    forget.forget,
    listings.threads,
    listings.turns,
    files.export,
    files.import_,
    migrate.migrate,
    files.backup,
    copies.copy,
    files.doctor,
    serve.serve,
    proxy.proxy,
    mcp.mcp,
):
    app.command(command.__name__.rstrip("_"))(command)
app.add_typer(keys.app, name="keys")
app.add_typer(models.app, name="models")
app.add_typer(cache.app, name="cache")


def _show_version(wanted: bool) -> None:
    if wanted:
        say(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Defines the options of `tsim` itself."""


def main() -> None:
    """Runs the `tsim` command."""
    run(app, "tsim")
