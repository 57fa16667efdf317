"""`scaleqa systems` and `scaleqa backends`: list them and their options."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from scaleqa import backends as answering
from scaleqa.backends import BackendDeclaration
from scaleqa.options import Option
from scaleqa.systems import SystemDeclaration, find_system
from scaleqa.systems import systems as all_systems
from tsim.cli.shell import AsJson, print_json


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
    _list(rows, ("name", "summary", "kind", "sees", "budget"), as_json=as_json)
    if not as_json:
        print("To list the options of a system: scaleqa systems NAME")


def backends(
    name: Annotated[str | None, typer.Argument(help="A backend, to list its options.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the backends that answer questions, or the options of one.

    Chats: whether it can be used for --assist and --judge.
    Stand-in: whether it answers without a language model.

    Example: scaleqa backends gguf
    """
    if name:
        found = answering.find_backend(name)
        _show(_backend(found), found.list_options(), as_json=as_json)
        return
    rows = [_backend(one) for one in answering.backends()]
    _list(rows, ("form", "summary", "chats", "stand_in"), as_json=as_json)


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


def _list(rows: Sequence[dict[str, Any]], shown: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    first, *others = (heading.replace("_", "-") for heading in shown)
    table = Table(Column(first, no_wrap=True), *others, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(_cell(row[key]) for key in shown))
    Console().print(table)


def _show(row: dict[str, Any], options: Sequence[Option], *, as_json: bool) -> None:
    if as_json:
        print_json({**row, "options": [asdict(option) for option in options]})
        return
    facts = Table.grid(padding=(0, 2))
    for key, value in row.items():
        if value is not None:
            facts.add_row(key.replace("_", " "), _cell(value))
    Console().print(facts)
    if not options:
        print("no options")
        return
    headings = (Column("option", no_wrap=True), "type", "default", "allowed", "meaning")
    table = Table(*headings, box=box.SIMPLE_HEAD, pad_edge=False)
    for option in options:
        cells = (option.name, option.type, option.default, option.bounds, option.meaning)
        table.add_row(*map(_cell, cells))
    Console().print(table)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escape(str(value))
