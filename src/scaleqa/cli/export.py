"""`scaleqa export`: rows and records in the forms of other tools."""

import json
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.bridges.extras import require
from scaleqa.cli.data import current_card
from scaleqa.records import shipped
from scaleqa.records.load import data_dir
from tsim.cli.shell import AsJson, print_json, progress_bar, say

app = typer.Typer(no_args_is_help=True, help="Rows and records for Inspect and Hugging Face.")


@app.command("inspect")
def inspect_command(
    run: Annotated[
        Path, typer.Argument(help="Directory of rows from scaleqa run or scaleqa retrieve.")
    ],
    out: Annotated[Path, typer.Option(help="Directory for the logs.")],
    form: Annotated[str, typer.Option("--format", help="eval or json.")] = "eval",
    as_json: AsJson = False,
) -> None:
    """Write rows as logs of Inspect, one for each system and package.

    Example: scaleqa export inspect runs/first --out logs
    """
    require("inspect")
    from scaleqa.bridges.inspect.files import export_logs

    with progress_bar("logs") as advance:
        files = export_logs(run, out, form, progress=advance)
    if as_json:
        print_json([str(file) for file in files])
    else:
        say(f"wrote {len(files)} logs to {out}; next: inspect view --log-dir {out}")


@app.command("huggingface")
def huggingface_command(
    out: Annotated[Path, typer.Option(help="Directory for the files; new or empty.")],
    packages: Annotated[
        Path | None, typer.Option(help="Also these packages: their turns and questions.")
    ] = None,
    run: Annotated[Path | None, typer.Option(help="Also the rows of this run.")] = None,
    tracks: Annotated[
        bool, typer.Option(help="The records and everything that ships beside them.")
    ] = True,
    form: Annotated[str, typer.Option("--format", help="parquet or jsonl.")] = "parquet",
    as_json: AsJson = False,
) -> None:
    """Write a data set that load_dataset and the Hugging Face hub read, with its card.

    Example: scaleqa export huggingface --out hub
    """
    if form == "parquet":
        require("huggingface")
    from scaleqa.bridges.huggingface.export import export_dataset

    card = ""
    if tracks:
        report = json.loads(data_dir().joinpath("validation.json").read_text("utf-8"))
        card = current_card(shipped(), report)
    with progress_bar("tables") as advance:
        files = export_dataset(
            out, card=card, packages=packages, run=run, form=form, progress=advance
        )
    if as_json:
        print_json([file.as_json() for file in files])
    else:
        say(f"wrote {len(files)} tables and a card to {out}; next, in Python:")
        say(f'datasets.load_dataset("{out}", "{files[0].config}", split="{files[0].split}")')
