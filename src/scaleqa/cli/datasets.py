"""`scaleqa datasets`: list data sets and their options."""

from dataclasses import asdict
from typing import Annotated

import typer

from scaleqa.datasets import dataset_names, find_dataset
from scaleqa.pages.forms import text
from scaleqa.pages.table import Column, Table
from scaleqa.pages.terminal import print_tables
from tsim.cli.shell import AsJson, print_json


def datasets(
    name: Annotated[
        str | None, typer.Argument(help="A data set, or FILE.py:ATTRIBUTE, to list its options.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets, or the options of one.

    Example: scaleqa datasets longmemeval
    """
    if name is None:
        known = [find_dataset(one) for one in dataset_names()]
        rows = [{"name": one.name, "summary": one.summary, "example": one.example} for one in known]
    else:
        rows = [asdict(option) for option in find_dataset(name).list_options()]
    if as_json:
        print_json(rows)
        return
    columns = tuple(
        Column(key=key, head=key, form=text) for key in rows[0] if as_json or key != "example"
    )
    print_tables(Table(columns=columns, rows=tuple(rows)))
