"""`tsim cache`: show and empty the cache directory."""

import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tsim import environment
from tsim.cachedir import Cached, cached
from tsim.cachedir import clear as remove
from tsim.cli.shell import AsJson, print_json, say
from tsim.cli.shell import show as show_table
from tsim.embed.models import KNOWN
from tsim.errors import InputError
from tsim.weights import Weights

# Other packages announce the models that they keep in the cache.
GROUP = "tsim.weights"

app = typer.Typer(
    invoke_without_command=True,
    help="Show the cache directory: what is in it, where, and its size.\n\nExample: tsim cache",
)


@app.callback()
def show(context: typer.Context, as_json: AsJson = False) -> None:
    """Lists the cache, unless a command follows."""
    if context.invoked_subcommand:
        return
    cache = environment.cache_dir()
    found = _found(cache)
    if as_json:
        print_json({"path": str(cache), "entries": _described(found)})
        return
    say(f"{cache}: {_megabytes(sum(one.size for one in found))}")
    if found:
        show_table(_table(cache, found))


@app.command()
def clear(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove downloaded weights, graphs, vectors and replies from the cache.

    Other files in the directory are left alone. What is needed later is fetched or computed again.

    Example: tsim cache clear --yes
    """
    cache = environment.cache_dir()
    found = _found(cache)
    freed = sum(one.size for one in found)
    if found and not yes:
        if as_json or not sys.stdin.isatty():
            raise InputError(f"{_megabytes(freed)} in {cache} would be removed; confirm with --yes")
        show_table(_table(cache, found))
        typer.confirm(f"Remove {_megabytes(freed)} from {cache}?", abort=True)
    removed = _described(found)
    remove(cache, found)
    if as_json:
        print_json({"path": str(cache), "removed": removed})
    else:
        say(f"removed {_megabytes(freed)} from {cache}")


def _found(cache: Path) -> list[Cached]:
    models: list[Weights] = [*KNOWN]
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        models += entry.load()
    return cached(cache, models)


def _described(found: list[Cached]) -> list[dict[str, object]]:
    return [{"what": one.what, "path": str(one.where), "bytes": one.size} for one in found]


def _table(cache: Path, found: list[Cached]) -> Table:
    table = Table("what", "where", "size")
    for one in found:
        table.add_row(one.what, str(one.where.relative_to(cache)), _megabytes(one.size))
    return table


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
