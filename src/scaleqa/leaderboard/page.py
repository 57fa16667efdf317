"""The leaderboard as a page: a table for each data set, split, track and length."""

from collections.abc import Sequence
from typing import Any

from scaleqa.leaderboard.checking import About, State
from scaleqa.leaderboard.columns import ANSWERS, RETRIEVAL, SOURCES
from scaleqa.leaderboard.schema import Figure, Result
from scaleqa.leaderboard.standings import Board, Entry, Line, boards
from scaleqa.leaderboard.words import INTRODUCTION, READING, SUBMITTING
from scaleqa.lengths import length_name
from scaleqa.pages.drawings import Bar, bars
from scaleqa.pages.forms import percent
from scaleqa.pages.page import Drawing, Notes, Page, Paragraph, Section
from scaleqa.pages.table import Table

DIGITS = 8
# Of an identity that begins with a name: what comes after these is left to the hover.
ENDS = "@/"


def leaderboard_page(entries: Sequence[Entry]) -> Page:
    """Lays out the results, which have been checked."""
    found = boards(entries)
    return Page(
        title="Leaderboard",
        introduction=tuple(Paragraph(text=text) for text in INTRODUCTION),
        sections=(
            *(_section(number, board) for number, board in enumerate(found, 1)),
            Section(name="reading", title="How to read the tables", blocks=(Notes(items=READING),)),
            Section(
                name="submitting",
                title="How to submit a result",
                blocks=tuple(Paragraph(text=text) for text in SUBMITTING),
            ),
        ),
    )


def _section(number: int, board: Board) -> Section:
    name = board_name(board)
    rows = tuple(_row(line) for line in board.lines)
    packages = {
        f"{package.name} `{package.sha256}`"
        for line in board.lines
        for package in line.entry.submission.result.data.packages
    }
    return Section(
        name=f"board-{number}",
        title=name,
        blocks=(
            _drawing(board, name),
            Table(columns=ANSWERS if board.key.answers else RETRIEVAL, rows=rows).filled(),
            Table(title="Where it comes from", columns=SOURCES, rows=rows).filled(),
            Notes(items=(f"Packages, by sha256: {', '.join(sorted(packages))}.", *_notes(board))),
        ),
    )


def _notes(board: Board) -> list[str]:
    """What submitters note; what several say is written once."""
    found: dict[str, list[str]] = {}
    for line in board.lines:
        result = line.entry.submission.result
        found.setdefault(result.note, []).append(f"`{result.system.spec}`")
    return [f"{', '.join(names)}: {note}" for note, names in found.items() if note]


def board_name(board: Board) -> str:
    """Names a table."""
    key = board.key
    target = None if key.target < 0 else key.target
    parts = [key.dataset, *key.splits, *filter(None, [key.track])]
    what = "answers" if key.answers else "retrieval"
    return f"{', '.join(parts)}, {length_name(target)}: {what}"


def _drawing(board: Board, name: str) -> Drawing:
    items = [
        Bar(label=_label(one.entry), value=one.entry.figure.value, low=one.entry.figure.low,
            high=one.entry.figure.high)
        for one in board.lines
    ]  # fmt: skip
    what = "Strict accuracy" if board.key.answers else "All evidence in context"
    listed = ", ".join(f"{item.label} {percent(item.value)}" for item in items)
    return Drawing(
        svg=bars(items, title=f"{what}: {name}", description=listed),
        title=f"{what}: {name}",
        caption=f"{what}, with Wilson's 95 % interval",
    )


def _label(entry: Entry) -> str:
    result = entry.submission.result
    return (
        f"{result.system.spec}, {_short(result.reader.model)}"
        if result.reader
        else result.system.spec
    )


def _row(line: Line) -> dict[str, Any]:
    submission = line.entry.submission
    result, figures = submission.result, submission.result.figures
    row: dict[str, Any] = {
        "system": result.system.spec,
        "link": result.system.link,
        "standing": _standing(line),
        "questions": _asked(result),
        "ingest": figures.ingest_ms_per_turn,
        "llm_calls": figures.llm_calls,
        "usd": figures.cost_usd,
        "version": result.system.version,
        "scaleqa": result.scaleqa,
        "date": result.date,
        "embedder": _short(result.embedder) if result.embedder else None,
        "embedder_whole": result.embedder,
        "system_model": result.system.model,
        "package": " ".join(one.sha256[:DIGITS] for one in result.data.packages),
        "package_whole": " ".join(one.sha256 for one in result.data.packages),
        "records": (result.data.records_sha256 or "")[:DIGITS] or None,
        "records_whole": result.data.records_sha256,
        "rows": result.rows_sha256[:DIGITS],
        "rows_whole": result.rows_sha256,
        "data": result.data.spec,
        "result": submission.name,
        "checked": _parts(line.entry, State.HOLDS),
        "unchecked": _parts(line.entry, State.OPEN) or None,
        "again": submission.receipt.questions if submission.receipt else None,
        **_figure("in_context", figures.in_context),
        **_figure("strict", figures.strict),
        **_figure("credited", figures.credited),
        **_figure("unanswered", figures.unanswered),
        **_figure("tokens", figures.context_tokens),
        **_figure("search", figures.search_p50_ms),
    }
    if line.against:
        row |= {
            "difference": line.against.difference.difference,
            "difference_interval": [*line.against.difference.interval],
            "mcnemar_p": line.against.mcnemar_p,
        }
    if result.reader:
        row |= {
            "model": _short(result.reader.model),
            "model_whole": result.reader.model,
            "prompt": result.reader.prompt,
            "writeback": "in the thread" if result.reader.writeback else "not kept",
            "judge": ", ".join(_judge(one.identity) for one in result.judges),
            "judge_whole": ", ".join(one.identity for one in result.judges),
            "sensitivity": _sensitivity(result),
        }
    return row


def _figure(name: str, figure: Figure | None) -> dict[str, Any]:
    if figure is None:
        return {}
    return {name: figure.value, f"{name}_interval": [figure.low, figure.high]}


def _standing(line: Line) -> str:
    if line.best:
        return "best"
    apart = line.told_apart
    if apart is None:
        return "other questions than the best"
    if not apart:
        return "not distinguishable from the best"
    # Of two samples, the one with the lower figure may have had the harder questions.
    lower = line.against is None or line.against.difference.difference < 0
    return "lower" if lower else "higher on the questions of both"


def _asked(result: Result) -> str:
    asked = result.questions
    if asked.asked == asked.of:
        return f"{asked.asked:,}"
    seeds = {"seed": asked.seed, "sample seed": asked.sample_seed}
    named = [f"{name} {seed}" for name, seed in seeds.items() if seed is not None]
    return ", ".join([f"{asked.asked:,} of {asked.of:,}", *named])


def _sensitivity(result: Result) -> str:
    found = result.judge_sensitivity
    if found is None:
        return "one judge"
    return f"{found.lowest:.3f}–{found.highest:.3f}, {found.judges} judges"


def _judge(identity: str) -> str:
    """A judge in few words: a language model by its name, others as they are."""
    parts = identity.split("/", 3)
    return _short(parts[3]) if parts[0] == "judge" and len(parts) > 3 else identity


def _short(identity: str) -> str:
    ends = [place for place in (identity.find(sign) for sign in ENDS) if place > 0]
    return identity[: min(ends)] if ends else identity


def _parts(entry: Entry, state: State) -> str:
    looked = [about for about in About if about is not About.SYSTEM]
    return ", ".join(about for about in looked if entry.checked.state(about) is state)
