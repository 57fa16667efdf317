"""`scaleqa data style`: habits of records, beside each other and beside other dialogues."""

from pathlib import Path
from typing import Annotated

import typer

from scaleqa.errors import DataError
from scaleqa.noise import load_pool
from scaleqa.pages.forms import text
from scaleqa.pages.table import Column, Table
from scaleqa.pages.terminal import print_tables
from scaleqa.records import SPLITS, THIRD, load_records, shipped
from scaleqa.records.habits import HABIT, Set, as_data, compare, table
from scaleqa.records.style import talk
from tsim.cli.shell import AsJson, print_json, say


def style_command(
    path: Annotated[
        list[Path] | None,
        typer.Argument(help="Records to compare with the built-in ones; may be repeated."),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(help="Other dialogues, as FORMAT=FILE; see scaleqa noise formats."),
    ] = None,
    limit: Annotated[int, typer.Option(min=2, help="Most dialogues of each of these.")] = 600,
    as_json: AsJson = False,
) -> None:
    """Count habits of records: who asks, what repeats, which names questions hold on to.

    Example: scaleqa data style my_records.jsonl --beside oasst=trees.jsonl
    """
    sets = [Set.of(split, shipped(split)) for split in (*SPLITS, THIRD)]
    sets += [Set.of(one.stem, load_records(one)) for one in path or ()]
    sets += [_dialogues(given, limit) for given in beside or ()]
    names = [one.name for one in sets]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"two sets are called {twice[0]!r}; rename one of the files")
    found = compare(sets)
    if as_json:
        print_json(as_data(found))
        return
    heads = Column(key=HABIT, head=HABIT, form=text)
    columns = (heads, *(Column(key=name, head=name, form=text) for name in names))
    print_tables(Table(columns=columns, rows=tuple(table(found))))
    least = min(len(one.talks) for one in sets)
    say(f"Repetition is counted in samples of {least} dialogues, as many as the smallest set has.")


def _dialogues(given: str, limit: int) -> Set:
    form, _, file = given.partition("=")
    if not file:
        raise DataError(f"--beside is {given!r}, expected FORMAT=FILE such as oasst=trees.jsonl")
    pool = load_pool(Path(file), form, limit=limit)
    return Set(name=form, talks=[talk(one.turns) for one in pool.dialogues])
