"""`tsim add | search | context | episodes | forget`: commands on the turns of a thread."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tsim.assemble import line
from tsim.cli.logfile import INCOMPLETE, Ids, LogFormat, Strict, described, read, tell
from tsim.cli.options import (
    MEMORY,
    PRESET,
    THREAD,
    MemoryPath,
    Model,
    Noted,
    Now,
    PresetName,
    Roles,
    Since,
    ThreadName,
    Until,
    must_exist,
    narrowed,
)
from tsim.cli.shell import AsJson, print_json, progress_bar
from tsim.errors import InputError
from tsim.memory import Memory
from tsim.thread import CONTEXT_BUDGET
from tsim.types import Hit

Query = Annotated[str, typer.Argument(help="A question or request in plain language.")]
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
    model: Model = None,
    preset: PresetName = PRESET,
    as_json: AsJson = False,
) -> None:
    """Add the turns of a log to a thread.

    Messages that cannot be read are named and left out (exit code 3); with --strict nothing is
    added then.

    Example: tsim add chat.jsonl --thread alice
    """
    source = "stdin" if file is None or str(file) == "-" else str(file)
    log = read(file, source, format=format, strict=strict, ids=ids)
    with Memory.open(memory, model=model, preset=preset) as opened, progress_bar("turns") as report:
        receipts = opened.thread(thread).add_many(log.turns, progress=report)
    if as_json:
        print_json({"receipts": [asdict(receipt) for receipt in receipts], **described(log)})
    else:
        new = [receipt for receipt in receipts if not receipt.known]
        episodes = len({receipt.episode for receipt in new})
        known = f"; {len(receipts) - len(new)} were there already" if new != receipts else ""
        print(f"added {len(new)} turns in {episodes} episodes to {thread} in {memory}{known}")
        tell(log, source)
    if log.problems:
        raise typer.Exit(INCOMPLETE)


def search(
    query: Query,
    memory: MemoryPath = MEMORY,
    thread: ThreadName = THREAD,
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
    as_json: AsJson = False,
) -> None:
    """Find the episodes relevant to a query and show why each was chosen.

    Example: tsim search "which model for the new project?" --thread alice --min-relevance 0.2
    """
    must_exist(memory)
    with Memory.open(memory, model=model, preset=preset, tokens=tokens) as opened:
        hits = opened.thread(thread).search(
            query,
            k=k,
            budget=budget,
            min_relevance=min_relevance,
            **narrowed(since, until, roles, meta, now),
        )
    if as_json:
        print_json([asdict(hit) for hit in hits])
    elif not hits:
        print(f"no results in thread {thread} of {memory}")
    else:
        Console().print(_table(hits))


def context(
    query: Query,
    memory: MemoryPath = MEMORY,
    thread: ThreadName = THREAD,
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
    as_json: AsJson = False,
) -> None:
    """Print the turns relevant to a query as text for a prompt.

    Example: tsim context "which model for the new project?" --budget 600 --since 7d --role user
    """
    must_exist(memory)
    with Memory.open(memory, model=model, preset=preset, tokens=tokens) as opened:
        text = opened.thread(thread).context(
            query,
            budget=budget,
            min_relevance=min_relevance,
            **narrowed(since, until, roles, meta, now),
        )
    if as_json:
        print_json({"context": text})
    else:
        print(text)


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
    as_json: AsJson = False,
) -> None:
    """List the episodes of a thread.

    Example: tsim episodes --thread alice --json
    """
    must_exist(memory)
    with Memory.open(memory, model=model, preset=preset) as opened:
        found = opened.thread(thread).episodes(threshold=threshold)
    if as_json:
        print_json([asdict(episode) for episode in found])
        return
    table = Table("episode", "turns", "begins with")
    for episode in found:
        first, last = episode.turns[0], episode.turns[-1]
        name = f"{episode.id} (open)" if episode.open else str(episode.id)
        begins = Text(_short(f"{first.role}: {first.text}"))
        table.add_row(name, f"{first.id}-{last.id}", begins)
    Console().print(table)


def forget(
    memory: MemoryPath = MEMORY,
    thread: ThreadName = THREAD,
    turn: Annotated[int | None, typer.Option(help="Forget this turn.")] = None,
    episode: Annotated[int | None, typer.Option(help="Forget this episode.")] = None,
    whole_thread: Annotated[bool, typer.Option(help="Forget the whole thread.")] = False,
    model: Model = None,
    preset: PresetName = PRESET,
    as_json: AsJson = False,
) -> None:
    """Remove a turn, an episode or a thread and erase it from the file.

    Example: tsim forget --thread alice --turn 17
    """
    if whole_thread and (turn is not None or episode is not None):
        raise InputError(
            "--whole-thread cannot be combined with --turn or --episode; use only one of them"
        )
    must_exist(memory)
    with Memory.open(memory, model=model, preset=preset) as opened:
        if whole_thread:
            if not opened.forget_thread(thread):
                raise InputError(f"there is no thread {thread!r}; nothing was removed")
            result: dict[str, object] = {"thread": thread}
        else:
            result = asdict(opened.thread(thread).forget(turn=turn, episode=episode))
    if as_json:
        print_json(result)
    else:
        kinds = (f"{key.replace('_', ' ')}: {value}" for key, value in result.items() if value)
        print("forgotten;", "; ".join(kinds))


def _table(hits: list[Hit]) -> Table:
    # The score of methods with a relevance is the relevance.
    table = Table("score" if hits[0].relevance is None else "relevance", "why", "turns")
    for hit in hits:
        text = "\n".join(_short(f"{turn.id} {line(turn)}") for turn in hit.turns)
        score = f"{hit.score:.2f}" if hit.relevance is None else f"{hit.relevance:.0%}"
        table.add_row(score, str(hit.why), Text(text))
    return table


def _short(text: str, most: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
