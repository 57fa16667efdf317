"""The `scaleqa` command; each subcommand has a file of its own."""

import typer

from scaleqa.cli import (
    audit,
    batch,
    build,
    construct,
    cuts,
    data,
    export,
    fit,
    judge,
    leaderboard,
    listings,
    models,
    noise,
    products,
    quickstart,
    report,
    reproduce,
    retrieve,
    review,
    run,
    work,
)
from scaleqa.errors import ScaleqaError
from tsim.cli.shell import run as run_app

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A benchmark for the memory of long conversations.\n\nExample: scaleqa quickstart",
)
app.command()(quickstart.quickstart)
app.command()(build.build)
app.command()(retrieve.retrieve)
app.command()(run.run)
app.command()(work.work)
app.command()(run.compare)
app.command()(judge.judge)
app.command()(judge.agree)
app.command()(report.report)
app.command()(listings.systems)
app.command()(listings.backends)
app.command()(listings.judges)
app.command()(listings.datasets)
app.command()(cuts.cuts)
app.command()(fit.fit)
app.add_typer(audit.app, name="audit")
app.add_typer(batch.app, name="batch")
app.add_typer(construct.app, name="construct")
app.add_typer(data.app, name="data")
app.add_typer(export.app, name="export")
app.add_typer(leaderboard.app, name="leaderboard")
app.add_typer(models.app, name="models")
app.add_typer(noise.app, name="noise")
app.add_typer(products.app, name="products")
app.add_typer(reproduce.app, name="reproduce")
app.add_typer(review.app, name="review")


@app.callback()
def _root() -> None:
    """Makes typer treat every command as a subcommand."""


def main() -> None:
    """Runs the `scaleqa` command."""
    run_app(app, "scaleqa", (ScaleqaError,))
