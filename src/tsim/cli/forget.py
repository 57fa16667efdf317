"""`tsim forget`: shows what would go, then removes it."""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from tsim.cli.options import (
    MEMORY,
    PRESET,
    THREAD,
    MemoryPath,
    Model,
    Noted,
    PresetName,
    Roles,
    Since,
    ThreadName,
    Until,
    must_exist,
    narrowed,
    text_or_stdin,
)
from tsim.cli.shell import AsJson, failed, print_json
from tsim.errors import InputError
from tsim.forgetting import preview
from tsim.memory import Memory
from tsim.thread import Thread
from tsim.types import ForgetPreview, Forgotten

SHOWN = 20


def forget(
    memory: MemoryPath = MEMORY,
    thread: ThreadName = THREAD,
    turn: Annotated[
        list[int] | None, typer.Option(help="Forget this turn; may be repeated.")
    ] = None,
    episode: Annotated[int | None, typer.Option(help="Forget this episode.")] = None,
    roles: Roles = None,
    since: Since = None,
    until: Until = None,
    meta: Noted = None,
    query: Annotated[
        str | None, typer.Option(help="Forget turns that a search finds. - reads stdin.")
    ] = None,
    min_relevance: Annotated[
        float | None,
        typer.Option(help="With --query: leave out what is less likely than this (0 to 1)."),
    ] = None,
    whole_thread: Annotated[
        bool, typer.Option("--whole-thread", help="Forget the whole thread.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask. Needed where nobody can be asked.")
    ] = False,
    model: Model = None,
    preset: PresetName = PRESET,
    as_json: AsJson = False,
) -> None:
    """Remove turns, an episode or a thread and erase them from the file.

    If more than one turn would go, or if they were searched for, they are shown first, and nothing
    is removed without --yes or an answer on the terminal. What was searched for is never removed
    without an answer.

    Example: tsim forget --thread alice --role tool --until 2026-05-01 --yes
    """
    given = narrowed(since, until, roles, meta, None)
    only = {name: value for name, value in given.items() if value is not None}
    if whole_thread and (turn or episode is not None or only or query is not None):
        raise InputError("--whole-thread cannot be combined with other choices; use only one")
    if min_relevance is not None and query is None:
        raise InputError("--min-relevance is about what a search finds; give it with --query")
    if query is not None and yes:
        raise InputError(
            "--query cannot be combined with --yes: a search is never certain; run it without, "
            "then pass the turns that should go with --turn"
        )
    if not (whole_thread or turn or episode is not None or only or query is not None):
        raise InputError(
            "nothing to forget was named; pass --turn, --episode, --role, --since, --until, "
            "--meta, --query or --whole-thread"
        )
    must_exist(memory)
    with Memory.open(memory, model=model, preset=preset) as opened:
        chosen = opened.thread(thread)
        if whole_thread:
            found = preview(thread, chosen)
        else:
            found = chosen.preview_forget(
                None if query is None else text_or_stdin(query),
                turns=turn or None,
                episode=episode,
                **only,
                min_relevance=min_relevance,
            )
        if not yes and (len(found) > 1 or query is not None):
            _ask(found, as_json, searched=query is not None)
        if whole_thread:
            opened.forget_thread(thread)
            _report(Forgotten(turns=found.turns), thread, as_json)
        else:
            _report(_forgotten(chosen, found), thread, as_json)


def _forgotten(thread: Thread, found: ForgetPreview) -> Forgotten:
    return thread.forget(turns=found.turns) if found.turns else Forgotten(turns=())


def _ask(found: ForgetPreview, as_json: bool, *, searched: bool) -> None:
    """Shows what would go; returns if the user agrees."""
    if as_json:
        print_json({**asdict(found), "forgotten": False})
    else:
        for number, line in list(zip(found.turns, found.lines, strict=True))[:SHOWN]:
            print(f"{number} {line}")
        if len(found) > SHOWN:
            print(f"… and {len(found) - SHOWN} more")
    if not as_json and sys.stdin.isatty():
        if typer.confirm(f"Forget {_turns(found)}?", err=True):
            return
        raise typer.Exit(1)
    how = "those that should go with --turn" if searched else "--yes to forget them"
    message = f"{_turns(found)} would be forgotten, nothing was removed; pass {how}"
    raise failed(InputError(message), as_json=as_json)


def _turns(found: ForgetPreview) -> str:
    return f"{len(found)} turn{'' if len(found) == 1 else 's'} of {found.thread}"


def _report(gone: Forgotten, thread: str, as_json: bool) -> None:
    if as_json:
        print_json({"thread": thread, **asdict(gone)})
        return
    kinds = (f"{key.replace('_', ' ')}: {value}" for key, value in asdict(gone).items() if value)
    print("forgotten;", "; ".join(kinds) if gone.turns else "no turn was found")
