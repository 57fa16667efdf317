"""`tsim add | search | context | episodes`: commands on the turns of threads."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tsim.assemble import CONTEXT_BUDGET, line
from tsim.checking import check_turn
from tsim.cli.logfile import (
    INCOMPLETE,
    Ids,
    LogFormat,
    Strict,
    described,
    is_there,
    read,
    say_what_was_left_out,
)
from tsim.cli.options import (
    MEMORY,
    PRESET,
    STREAM,
    THREAD,
    MemoryPath,
    Model,
    Noted,
    Now,
    PresetName,
    ReadOnly,
    Roles,
    Since,
    ThreadName,
    Until,
    must_exist,
    narrowed,
    text_or_stdin,
)
from tsim.cli.shell import AsJson, hand_over, print_json, progress_bar, say, show, tell
from tsim.errors import InputError
from tsim.excerpt import excerpt
from tsim.logs.detect import Format
from tsim.logs.reading import Log
from tsim.memory import Memory
from tsim.store import shown
from tsim.times import before, seconds
from tsim.types import USER_ROLE, Hit, NewTurn, Receipt
from tsim.types import ids as turn_ids

Query = Annotated[
    str, typer.Argument(help="A question or request in plain language. - reads stdin.")
]
ThreadNames = Annotated[
    list[str] | None,
    typer.Option(
        "--thread",
        "-t",
        help="Name of the thread; may be repeated to search several.",
        show_default=THREAD,
    ),
]
Budget = Annotated[int | None, typer.Option(help="Maximum number of tokens to return.")]
Tokens = Annotated[
    str,
    typer.Option(
        help="What counts the tokens: estimate, words (1.3 a word), tiktoken:NAME, or the path of "
        "a Hugging Face tokenizer.json."
    ),
]
MinRelevance = Annotated[
    float | None,
    typer.Option(
        help="Leave out what is less likely than this (0 to 1) to hold what was asked; 0 shows all "
        "that fits. Default: leave out what is hardly ever useful."
    ),
]


def add(
    file: Annotated[
        Path | None,
        typer.Argument(help="A log of messages, plain or gzipped. Reads stdin if omitted or -."),
    ] = None,
    format: LogFormat = None,
    strict: Strict = False,
    ids: Ids = True,
    memory: MemoryPath = MEMORY,
    thread: ThreadName = THREAD,
    text: Annotated[
        str | None, typer.Option(help="Add this text as one turn. - reads it from stdin.")
    ] = None,
    role: Annotated[
        str | None, typer.Option(help="The speaker of --text.", show_default="user")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="The time of --text: an ISO date or time (UTC), now, 30min, 12h, 7d…"),
    ] = None,
    model: Model = None,
    preset: PresetName = PRESET,
    as_json: AsJson = False,
) -> None:
    """Add the turns of a log to a thread.

    Messages that cannot be read are named and left out (exit code 3); with --strict nothing is
    added then.

    Example: tsim add chat.jsonl --thread alice

    Example: tsim add --text "New projects run on one consumer GPU." --role user --at now
    """
    source = "stdin" if file is None or str(file) == STREAM else str(file)
    if text is not None:
        log = _line(file, text, role, at)
    elif role is not None or at is not None:
        raise InputError("--role and --at are about --text; messages have roles and times")
    else:
        log = read(file, source, format=format, strict=strict, ids=ids)
    with Memory.open(memory, model=model, preset=preset) as opened, progress_bar("turns") as report:
        named = opened.thread(thread)
        if text is None and named and is_there(log, named):
            tell(f"the first turns of {source} are in {thread} already; adding it again", "yellow")
        report(0, len(log.turns))
        receipts = named.add_many(log.turns, progress=report)
    if as_json:
        print_json({"receipts": [asdict(receipt) for receipt in receipts], **described(log)})
    else:
        say(f"{_added(receipts)} to {thread} in {shown(memory)}{_known(receipts)}")
        if text is None:
            say_what_was_left_out(log, source)
    if log.problems:
        raise typer.Exit(INCOMPLETE)


def _added(receipts: Sequence[Receipt]) -> str:
    new = [receipt for receipt in receipts if not receipt.known]
    episodes = len({receipt.episode for receipt in new})
    return f"added {_many(len(new), 'turn')} in {_many(episodes, 'episode')}"


def _known(receipts: Sequence[Receipt]) -> str:
    known = sum(receipt.known for receipt in receipts)
    return f"; {known} {'was' if known == 1 else 'were'} there already" if known else ""


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _line(file: Path | None, text: str, role: str | None, at: str | None) -> Log:
    if file is not None:
        raise InputError(f"--text cannot be combined with {file}; pass one of them")
    turn = NewTurn(
        role=USER_ROLE if role is None else role,
        text=text_or_stdin(text),
        at=None if at is None else seconds(before(at, datetime.now(UTC)), "at"),
    )
    return Log(format=Format.PARAGRAPHS, turns=(check_turn(turn),))


def search(
    query: Query,
    memory: MemoryPath = MEMORY,
    thread: ThreadNames = None,
    k: Annotated[
        int | None, typer.Option("--k", "-k", help="Maximum number of episodes to return.")
    ] = None,
    budget: Budget = None,
    tokens: Tokens = "estimate",
    min_relevance: MinRelevance = None,
    since: Since = None,
    until: Until = None,
    roles: Roles = None,
    meta: Noted = None,
    now: Now = None,
    model: Model = None,
    preset: PresetName = PRESET,
    read_only: ReadOnly = False,
    as_json: AsJson = False,
) -> None:
    """Find the episodes relevant to a query and show why each was chosen.

    Example: tsim search "which model for the new project?" --thread alice --min-relevance 0.2
    """
    must_exist(memory)
    asked, names = text_or_stdin(query), thread or [THREAD]
    with Memory.open(
        memory, model=model, preset=preset, tokens=tokens, read_only=read_only
    ) as opened:
        hits = opened.search(
            asked,
            threads=names,
            k=k,
            budget=budget,
            min_relevance=min_relevance,
            **narrowed(since, until, roles, meta, now),
        )
    if as_json:
        print_json([asdict(hit) for hit in hits])
    elif not hits:
        say(f"no results in thread {', '.join(names)} of {shown(memory)}")
    else:
        show(_table(hits))


def context(
    query: Query,
    memory: MemoryPath = MEMORY,
    thread: ThreadNames = None,
    budget: Annotated[
        int, typer.Option(help="Maximum number of tokens to return.")
    ] = CONTEXT_BUDGET,
    tokens: Tokens = "estimate",
    min_relevance: MinRelevance = None,
    since: Since = None,
    until: Until = None,
    roles: Roles = None,
    meta: Noted = None,
    now: Now = None,
    model: Model = None,
    preset: PresetName = PRESET,
    read_only: ReadOnly = False,
    as_json: AsJson = False,
) -> None:
    """Print the turns relevant to a query as text for a prompt.

    Example: tsim context "which model for the new project?" --budget 600 --since 7d --role user
    """
    must_exist(memory)
    asked, names = text_or_stdin(query), thread or [THREAD]
    only = narrowed(since, until, roles, meta, now)
    with Memory.open(
        memory, model=model, preset=preset, tokens=tokens, read_only=read_only
    ) as opened:
        if len(names) == 1:
            text = opened.thread(names[0]).context(
                asked, budget=budget, min_relevance=min_relevance, **only
            )
        else:
            text = opened.context(
                asked, threads=names, budget=budget, min_relevance=min_relevance, **only
            )
    if as_json:
        print_json({"context": text})
    else:
        hand_over(text)


def episodes(
    memory: MemoryPath = MEMORY,
    thread: ThreadName = THREAD,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Recompute episodes: begin one where a new topic is at least this likely (0 to 1)."
        ),
    ] = None,
    model: Model = None,
    preset: PresetName = PRESET,
    read_only: ReadOnly = False,
    as_json: AsJson = False,
) -> None:
    """List the episodes of a thread.

    Example: tsim episodes --thread alice --json
    """
    must_exist(memory)
    with Memory.open(memory, model=model, preset=preset, read_only=read_only) as opened:
        found = opened.thread(thread).episodes(threshold=threshold)
    if as_json:
        print_json([asdict(episode) for episode in found])
        return
    table = Table("episode", "turns", "begins with")
    for episode in found:
        first = episode.turns[0]
        name = f"{episode.id} (open)" if episode.open else str(episode.id)
        begins = excerpt(f"{first.role}: {first.text}")
        table.add_row(name, turn_ids(episode.turns), begins)
    show(table)


def _table(hits: list[Hit]) -> Table:
    # The score of methods with a relevance is the relevance.
    several = len({hit.thread for hit in hits}) > 1
    table = Table("score" if hits[0].relevance is None else "relevance", "why", "turns")
    for hit in hits:
        where = f"{hit.thread}\n" if several else ""
        text = where + "\n".join(excerpt(f"{turn.id} {line(turn)}") for turn in hit.turns)
        score = f"{hit.score:.2f}" if hit.relevance is None else f"{hit.relevance:.0%}"
        table.add_row(score, str(hit.why), (text))
    return table
