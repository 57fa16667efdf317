"""`scaleqa systems`, `backends`, `judges` and `datasets`: list what there is, and options."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from scaleqa import backends as answering
from scaleqa.backends import BackendDeclaration
from scaleqa.datasets import DataSetDeclaration, dataset_names, find_dataset
from scaleqa.judges import JudgeDeclaration, find_judge
from scaleqa.judges import judges as all_judges
from scaleqa.options import Option
from scaleqa.pages.forms import text
from scaleqa.pages.table import Column, Table
from scaleqa.pages.terminal import print_tables
from scaleqa.systems import SystemDeclaration, find_system
from scaleqa.systems import systems as all_systems
from tsim.cli.shell import AsJson, print_json, say

# Fields of an option, with their names for readers.
OPTION = {
    "name": "option",
    "type": "type",
    "default": "default",
    "bounds": "allowed",
    "meaning": "meaning",
}


def systems(
    name: Annotated[
        str | None, typer.Argument(help="A system, or FILE.py:ATTRIBUTE, to list its options.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the systems under test, or the options of one.

    Sees: the part of the truth that a system is given.
    Budget: the option that limits its context.

    Example: scaleqa systems tuned_hybrid
    """
    if name:
        found = find_system(name)
        _show(_system(found), found.list_options(), as_json=as_json)
        return
    rows = [_system(one) for one in all_systems()]
    _list(rows, ("name", "kind", "sees", "budget", "summary"), as_json=as_json)
    if not as_json:
        say("List the options of one with: scaleqa systems NAME")
        say("Products are systems, too, and are listed with: scaleqa products")


def backends(
    name: Annotated[str | None, typer.Argument(help="A backend, to list its options.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the backends that answer questions, or the options of one.

    Chats: whether it can also be used with --assist.
    Stand-in: it answers without a language model.

    Example: scaleqa backends gguf
    """
    if name:
        found = answering.find_backend(name)
        _show(_backend(found), found.list_options(), as_json=as_json)
        return
    rows = [_backend(one) for one in answering.backends()]
    _list(rows, ("form", "chats", "stand_in", "summary"), as_json=as_json)


def judges(
    name: Annotated[
        str | None, typer.Argument(help="A judge, or FILE.py:ATTRIBUTE, to list its options.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the judges that grade answers, or the options of one.

    Asks: whether it asks a language model.

    Example: scaleqa judges f1
    """
    if name:
        found = find_judge(name)
        _show(_judge(found), found.list_options(), as_json=as_json)
        return
    rows = [_judge(one) for one in all_judges()]
    _list(rows, ("name", "asks", "summary"), as_json=as_json)
    if not as_json:
        say("List the options of one with: scaleqa judges NAME")


def datasets(
    name: Annotated[
        str | None, typer.Argument(help="A data set, or FILE.py:ATTRIBUTE, to list its options.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets, or the options of one.

    Example: scaleqa datasets longmemeval
    """
    if name:
        found = find_dataset(name)
        _show(_dataset(found), found.list_options(), as_json=as_json)
        return
    rows = [_dataset(find_dataset(one)) for one in dataset_names()]
    _list(rows, ("name", "summary"), as_json=as_json)


def _system(one: SystemDeclaration[Any]) -> dict[str, Any]:
    return {
        "name": one.name,
        "summary": one.summary,
        "kind": str(one.kind),
        "sees": str(one.sees),
        "budget": str(one.budget) if one.budget else None,
        "without_model": one.without_model or None,
    }


def _backend(one: BackendDeclaration[Any]) -> dict[str, Any]:
    return {
        "name": one.name,
        "form": one.form,
        "summary": one.summary,
        "example": one.example,
        "chats": one.chats,
        "stand_in": one.stand_in,
    }


def _judge(one: JudgeDeclaration[Any]) -> dict[str, Any]:
    return {
        "name": one.name,
        "summary": one.summary,
        "example": one.example,
        "asks": one.asks,
    }


def _dataset(one: DataSetDeclaration[Any]) -> dict[str, Any]:
    return {"name": one.name, "summary": one.summary, "example": one.example}


def _list(rows: Sequence[dict[str, Any]], shown: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    print_tables(_table({key: _words(key) for key in shown}, rows))


def _show(row: dict[str, Any], options: Sequence[Option], *, as_json: bool) -> None:
    if as_json:
        print_json({**row, "options": [asdict(option) for option in options]})
        return
    for key, value in row.items():
        if value is not None:
            say(f"{_words(key):14} {_cell(value)}")
    if not options:
        say("no options")
        return
    say()
    print_tables(_table(OPTION, [asdict(option) for option in options]))


def _table(heads: Mapping[str, str], rows: Sequence[dict[str, Any]]) -> Table:
    """A table of words, the last column of which is prose."""
    return Table(
        columns=tuple(Column(key=key, head=head, form=text) for key, head in heads.items()),
        rows=tuple({key: _cell(row[key]) for key in heads} for row in rows),
    )


def _words(key: str) -> str:
    return key.replace("_", " ").replace("stand in", "stand-in")


def _cell(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
