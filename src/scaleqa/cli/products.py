"""`scaleqa products`: memory products as systems under test."""

from typing import Annotated, Any

import typer

from scaleqa import products as known
from scaleqa.pages.table import listing
from scaleqa.pages.terminal import print_tables
from scaleqa.products import Product
from tsim import environment
from tsim.cli.shell import AsJson, print_json, say, tell

app = typer.Typer(
    help="Memory products as systems under test, each in an environment of its own: list, install, "
    "remove. Without a subcommand they are listed.\n\nExample: scaleqa products"
)
Names = Annotated[list[str], typer.Argument(help="Names of products; all for every one.")]
EVERY = "all"


@app.callback(invoke_without_command=True)
def _group(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_products()


@app.command("list")
def list_products(as_json: AsJson = False) -> None:
    """List the products, and whether they are installed.

    Example: scaleqa products list --json
    """
    rows = [_about(product) for product in known.products()]
    if as_json:
        print_json(rows)
        return
    shown = ("name", "version", "state", "megabytes", "model", "summary")
    print_tables(listing([{key: row[key] or "–" for key in shown} for row in rows]))
    say("Install one with: scaleqa products install NAME")


@app.command()
def install(names: Names, as_json: AsJson = False) -> None:
    """Make the environments of products, with the versions that are pinned.

    Example: scaleqa products install chroma mem0
    """
    done = []
    for product in _named(names):
        tell(f"installing {product.title} {product.version}")
        known.install(product, environment.cache_dir(), offline=environment.offline())
        done.append(_about(product))
    if as_json:
        print_json(done)
        return
    for row in done:
        say(f"{row['name']} takes {row['megabytes']} MB in {row['path']}; use it as a system: "
            f"--system {row['name']}")  # fmt: skip


@app.command()
def remove(names: Names, as_json: AsJson = False) -> None:
    """Remove the environments of products.

    Example: scaleqa products remove chroma
    """
    done = [
        {"name": product.name, "removed": known.remove(product, environment.cache_dir())}
        for product in _named(names)
    ]
    if as_json:
        print_json(done)
        return
    for row in done:
        say(f"{row['name']} {'was removed' if row['removed'] else 'was not installed'}")


def _named(names: list[str]) -> list[Product]:
    """Returns products, all of them known before anything is done with the first."""
    return known.products() if names == [EVERY] else [known.find_product(name) for name in names]


def _model(product: Product) -> str:
    """Says whether it asks a language model, which is given with --assist."""
    if not product.needs_model:
        return ""
    if product.needs_model == product.modes:
        return "needed"
    return f"for mode={', '.join(product.needs_model)}"


def _about(product: Product) -> dict[str, Any]:
    found = known.installed(product, environment.cache_dir())
    state = "not installed"
    if found:
        state = "installed" if found.current else "other versions"
    return {
        "name": product.name,
        "title": product.title,
        "version": product.version,
        "state": state,
        "megabytes": round(found.size / 1e6) if found else None,
        "path": str(found.directory) if found else None,
        "modes": [*product.modes],
        "needs_model": [*product.needs_model],
        "model": _model(product),
        "summary": product.summary,
    }
