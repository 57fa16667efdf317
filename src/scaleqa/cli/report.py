"""`scaleqa report`: write rows as one HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from scaleqa.report import figures_json, write_report
from tsim.cli.shell import AsJson, print_json, say


def report(
    runs: Annotated[
        Path, typer.Argument(help="Directory of rows from scaleqa run or scaleqa retrieve.")
    ],
    out: Annotated[Path, typer.Option(help="File for the page.")] = Path("report.html"),
    details: Annotated[
        int,
        typer.Option(min=0, help="Maximum number of questions shown with their whole contexts."),
    ] = 200,
    as_json: AsJson = False,
) -> None:
    """Write a page with all tables, figures and questions, or print the figures with --json.

    Example: scaleqa report runs/first --out report.html
    """
    if as_json:
        print_json(figures_json(runs))
        return
    said = write_report(runs, out, details=details)
    say(said)
    say(f"wrote {out} ({out.stat().st_size / 1e6:.1f} MB); open it in a browser")
