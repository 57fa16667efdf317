"""`scaleqa batch shard`, `read` and `check`: what blind readers need."""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from scaleqa.backends.batchfile import read_answers
from scaleqa.backends.itemdir import ANSWERS, Item, ItemDirectory
from scaleqa.errors import DataError
from scaleqa.evaluate.exported import rows_beside
from scaleqa.figures.presence import track
from scaleqa.pages.forms import count, text
from scaleqa.pages.table import Column, Table
from scaleqa.pages.terminal import print_tables
from scaleqa.reading import Shown, divide, find_shards, leaks, next_item, read_pieces, take_answer
from scaleqa.reading import write_shards as write
from scaleqa.reading.pieces import Exposed
from tsim.cli.shell import AsJson, hand_over, print_json, say, tell
from tsim.toolkit import tokens

# How long to wait for the next item of a live directory, and between two looks.
WAIT, LOOK = 8.0, 0.2


def shard(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files written by scaleqa batch export; items are left out whose answers are "
            "named as well, by file or shard."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Directory for the shards.")],
    size: Annotated[int | None, typer.Option(min=1, help="Most items of a shard.")] = None,
    readers: Annotated[int | None, typer.Option(min=1, help="Shards of each wave.")] = None,
    wave: Annotated[
        int | None,
        typer.Option(min=1, help="Questions of each export in a wave; by default all."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the order.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Divide items among blind readers, so that no item of a shard gives away another.

    Example: scaleqa batch shard batch/*.jsonl --size 60 --wave 50 --out batch/shards
    """
    prompts, answers = sorted_out(files)
    items = read_pieces(prompts)
    done = read_answers(answers, {one.item.custom_id for one in items})
    if items and len(done) == len(items):
        raise DataError(f"all {len(items)} items are answered; there is nothing to divide")
    found = divide(
        [one for one in items if one.item.custom_id not in done],
        size=size,
        readers=readers,
        wave=wave,
        seed=seed,
    )
    write(found, out)
    rows: list[dict[str, Any]] = [
        {
            "shard": one.name,
            "wave": one.wave,
            "items": len(one.items),
            "tokens": tokens.by_words(one.common)
            + sum(tokens.by_words(item.item.prompt[len(one.common) :]) for item in one.items),
        }
        for one in found
    ]
    if as_json:
        print_json({"out": str(out), "shards": rows})
        return
    waves = Counter(one.wave for one in found)
    for number, shards in waves.items():
        own = [row for row in rows if row["wave"] == number]
        say(
            f"wave {number}: {shards} shards, {sum(row['items'] for row in own):,} items, "
            f"{sum(row['tokens'] for row in own):,} tokens"
        )
    say(f"Shards are in {out}; a reader goes on with: scaleqa batch read {out / found[0].name}")


def read(
    directory: Annotated[Path, typer.Argument(help="A shard, or the directory of a live reader.")],
    answer: Annotated[
        str | None,
        typer.Option(help="Answer to the item shown last, or - for standard input."),
    ] = None,
    item: Annotated[
        int | None,
        typer.Option(help="Number of the item that is answered, as shown; needed with --answer."),
    ] = None,
    context: Annotated[
        bool, typer.Option("--context", help="Show a context again that all items share.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the next item; with --answer, record the answer to the one shown and go on.

    Example: scaleqa batch read batch/shards/w01-001 --item 1 --answer B
    """
    # A reader who mistakes the directory would otherwise answer somebody else's item.
    if answer is not None and item is None:
        raise DataError("--answer needs the number of the item that it is for, such as --item 1")
    opened = ItemDirectory(directory)
    with opened.held():
        if answer is not None:
            said = sys.stdin.read() if answer == "-" else answer
            take_answer(opened, said, item)
        shown = next_item(opened, again=context)
        until = time.monotonic() + WAIT
        while shown.item is None and not shown.finished and time.monotonic() < until:
            time.sleep(LOOK)
            shown = next_item(opened, again=context)
        if as_json:
            print_json(_described(shown))
        else:
            hand_over(_written(shown))
        if shown.item:
            sys.stdout.flush()
            opened.show(shown.item)


def check(
    files: Annotated[
        list[Path], typer.Argument(help="Files written by scaleqa batch export, and shards.")
    ],
    as_json: AsJson = False,
) -> None:
    """Look for items of a shard that give away each other, and count what is answered.

    Example: scaleqa batch check batch/prompts.jsonl batch/shards
    """
    shards = find_shards(file for file in files if file.is_dir())
    known = {one.item.custom_id: one for one in read_pieces(exports_of(files))}
    found: list[dict[str, Any]] = []
    answered: set[str] = set()
    placed: Counter[str] = Counter()
    for one in shards:
        items = one.items
        answered.update(one.answered)
        placed.update(item.custom_id for item in items)
        pieces = [_known(item, known, one).piece for item in items]
        found += [{"shard": one.path.name, "why": leak.why} for leak in leaks(pieces)]
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for key, one_item in known.items():
        row = one_item.exported.row
        counts[row.run.system, f"{track(row) or row.run.dataset} {row.split or ''}".strip()].update(
            {"items": 1, "sharded": placed[key], "answered": int(key in answered)}
        )
    rows = [
        {"system": system, "track": name, **counted}
        for (system, name), counted in sorted(counts.items())
    ]
    if as_json:
        print_json({"leaks": found, "shards": len(shards), "counts": rows})
    else:
        heads = ("items", "sharded", "answered")
        columns = (
            Column(key="system", head="system", form=text),
            Column(key="track", head="track", form=text),
            *(Column(key=head, head=head, form=count) for head in heads),
        )
        print_tables(Table(columns=columns, rows=tuple(rows)))
        for leak in found:
            tell(f"{leak['shard']}: {leak['why']}")
        say(f"{len(found)} leaks in {len(shards)} shards, all pairs of items compared")
    doubled = [key for key, times in placed.items() if times > 1]
    if found or doubled:
        raise DataError(
            f"{len(found)} pairs of items give away each other, and {len(doubled)} items are in "
            "more than one shard; divide them again with: scaleqa batch shard"
        )


def exports_of(files: Sequence[Path]) -> list[Path]:
    """Returns the exports among some files: a file of rows is beside each."""
    return [file for file in files if rows_beside(file).is_file()]


def sorted_out(files: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Tells exports from answers: an export has a file of rows beside it.

    Raises:
        DataError: There is no export among them, or a directory has no answers.
    """
    prompts = exports_of(files) or [*files[:1]]
    beside = {rows_beside(file) for file in prompts}
    answers: list[Path] = []
    for file in files:
        if file in beside:  # named by a pattern
            continue
        if file.is_dir():
            kept = [one.path / ANSWERS for one in find_shards([file])]
            answers += [path for path in kept if path.exists()]
        elif file not in prompts:
            answers.append(file)
    return prompts, answers


def _known(item: Item, known: dict[str, Exposed], shard: ItemDirectory) -> Exposed:
    if item.custom_id not in known:
        raise DataError(f"{shard.path} has items of other exports; name these files, too")
    return known[item.custom_id]


def _written(shown: Shown) -> str:
    if shown.item is None:
        return "finished\n" if shown.finished else "wait\n"
    return f"item {shown.number}, {shown.left} left\n\n{shown.text.rstrip()}\n"


def _described(shown: Shown) -> dict[str, Any]:
    if shown.item is None:
        return {"state": "finished" if shown.finished else "wait"}
    return {"state": "item", "item": shown.number, "left": shown.left, "prompt": shown.text}
