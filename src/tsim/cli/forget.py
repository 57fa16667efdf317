"""`tsim forget`: shows what would go, then removes it."""

import shlex
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from tsim.characters import visible
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
from tsim.cli.shell import AsJson, failed, print_json, say
from tsim.errors import InputError
from tsim.forgetting import preview
from tsim.memory import Memory
from tsim.store import is_address, shown
from tsim.thread import Thread
from tsim.types import ForgetPreview, Forgotten

SHOWN = 20
ERASED = "{} bytes are erased"
UNERASED = (
    "{} bytes are not erased yet, because others have the memory or the cache of vectors open; "
    "tsim doctor erases them when nobody has"
)
# A server has a log, and maybe replicas and backups, that nobody can erase by forgetting.
IN_TABLES = (
    "{} bytes are erased from the tables; the server's log, replicas and backups may have them"
)
LEFT_IN_TABLES = (
    "{} bytes are not erased from the tables yet, because others use them, they are large, or this "
    "user does not own them; tsim doctor tries again"
)


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
        str | None, typer.Option(help="Show the turns that a question may mean. - reads stdin.")
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

    If more than one turn would go, they are shown first, and nothing is removed without --yes or an
    answer on the terminal. With --query the turns that may be meant are shown, best first; one of
    several is removed by its --turn.

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
        if query is not None and found.turns:
            _choose(found, as_json, _removing(memory, thread, model, preset, found.turns[0]))
        elif not yes and len(found) > 1:
            _ask(found, as_json)
        if whole_thread:
            opened.forget_thread(thread)
            if as_json:
                gone = Forgotten(turns=found.turns, scrubbed=opened.erased)
                print_json({"thread": thread, **asdict(gone)})
            else:
                say(f"forgot {_turns(found)}, the whole thread")
        else:
            _report(_forgotten(chosen, found), memory, thread, as_json)


def _forgotten(thread: Thread, found: ForgetPreview) -> Forgotten:
    return thread.forget(turns=found.turns) if found.turns else Forgotten(turns=())


def _choose(found: ForgetPreview, as_json: bool, command: str) -> None:
    """Shows what a question may mean; returns if it is one turn and the user agrees."""
    _show(found, as_json)
    if len(found) == 1 and _agreed(found, as_json):
        return
    message = f"{_turns(found)} may be meant, nothing was removed; "
    best = "it" if len(found) == 1 else "the best one"
    raise failed(InputError(f"{message}to forget {best}: {command}"), as_json=as_json)


def _removing(memory: str, thread: str, model: str | None, preset: str | None, turn: int) -> str:
    """Returns the command that forgets a turn."""
    options = {"memory": shown(memory), "thread": thread, "model": model, "preset": preset}
    given = [f"--{name}={value}" for name, value in options.items() if value is not None]
    return shlex.join(["tsim", "forget", *given, "--turn", str(turn)])


def _ask(found: ForgetPreview, as_json: bool) -> None:
    """Shows what would go; returns if the user agrees."""
    _show(found, as_json)
    if _agreed(found, as_json):
        return
    message = f"{_turns(found)} would be forgotten, nothing was removed; pass --yes to forget them"
    raise failed(InputError(message), as_json=as_json)


def _show(found: ForgetPreview, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(found), "forgotten": False})
        return
    likely = found.relevances or (None,) * len(found)
    for number, share, line in [*zip(found.turns, likely, found.lines, strict=True)][:SHOWN]:
        say(number, line) if share is None else say(number, f"{share:.0%}", line)
    if len(found) > SHOWN:
        say(f"… and {len(found) - SHOWN} more")


def _agreed(found: ForgetPreview, as_json: bool) -> bool:
    """Asks on a terminal, and leaves if the answer is no; returns False if nobody can be asked."""
    if as_json or not sys.stdin.isatty():
        return False
    if not typer.confirm(visible(f"Forget {_turns(found)}?"), err=True):
        raise typer.Exit(1)
    return True


def _turns(found: ForgetPreview) -> str:
    return f"{len(found)} turn{'' if len(found) == 1 else 's'} of {found.thread}"


def _report(gone: Forgotten, memory: str, thread: str, as_json: bool) -> None:
    if as_json:
        print_json({"thread": thread, **asdict(gone)})
    elif not gone.turns:
        say("nothing was forgotten: no turn was found")
    else:
        whose = "its" if len(gone.turns) == 1 else "their"
        erased, left = (IN_TABLES, LEFT_IN_TABLES) if is_address(memory) else (ERASED, UNERASED)
        what = (erased if gone.scrubbed else left).format(whose)
        say(f"forgot {_named(gone.turns)} of {thread}; {what}")


def _named(turns: tuple[int, ...]) -> str:
    *others, last = map(str, turns)
    if not others:
        return f"turn {last}"
    return f"turns {', '.join(others)} and {last}" if len(turns) <= SHOWN else f"{len(turns)} turns"
