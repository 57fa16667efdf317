"""Tables of size: what longer threads do to recall, and what systems keep and take."""

import math
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from scaleqa import paper
from scaleqa.errors import DataError
from scaleqa.figures.retrieval import retrieval
from scaleqa.lengths import length
from scaleqa.pages.drawings import Bar, Line, Point, bars, lines
from scaleqa.pages.forms import count, fine
from scaleqa.pages.page import Page
from scaleqa.pages.table import Column, Table, interval
from scaleqa.report.palette import base_colour
from scaleqa.reproduce.lab import Lab, Threads
from scaleqa.reproduce.reproduction import (
    INTERVAL,
    LENGTH,
    SYSTEM,
    Reproduction,
    combinations,
    described,
    label_of,
    lengths,
    notes,
    page,
)
from scaleqa.reproduce.retrieval import (
    CONTEXT,
    PAPER_RECALL,
    RECALL,
    TOKENS,
    WHAT,
    recall_row,
)

QUESTIONS = Column(key="questions", head="questions", form=count)
# More questions than this add nothing at the greatest length but time.
AT_A_MILLION = 400


def scaling(lab: Lab, table: Reproduction) -> Page:
    """Recall and context by length."""
    used, missing = _lengths_possible(lab, table.targets)
    lab.expect(len(used) * len(table.systems))
    rows = []
    points: dict[str, list[Point]] = {system: [] for system in table.systems}
    identity = lab.embedder().identity
    lab.ahead(lab.retrieving(system, threads) for threads in used for system in table.systems)
    for threads in used:
        for system in table.systems:
            found = retrieval(lab.retrieve(system, threads))
            low, high = found.in_context.interval
            mark = paper.recall(system, identity, threads.target)
            rows.append({
                **recall_row(threads, found), "context_interval": (low, high), "paper_recall": mark,
                "threads": len(threads.packages),
                "thread_tokens": _mean_tokens(threads),
            })  # fmt: skip
            x = math.log2(threads.target) if threads.target else _left_of(used)
            points[system].append(Point(x=x, y=found.in_context.value, low=low, high=high))
    columns = (
        SYSTEM, LENGTH, Column(key="threads", head="threads", form=count),
        Column(key="thread_tokens", head="tokens per thread", form=count), QUESTIONS, *RECALL,
        CONTEXT, interval("context_interval"), TOKENS, PAPER_RECALL,
    )  # fmt: skip
    ticks = [(math.log2(t.target) if t.target else _left_of(used), length(t.target)) for t in used]
    return page(
        lab,
        table,
        about=(table.about, WHAT, described(lab, used)),
        tables=[Table(columns=columns, rows=tuple(rows))],
        notes=(
            *(f"Left out: {length(target)}. {why[0].upper()}{why[1:]}." for target, why in missing),
            "Length 0 is the truth without noise: one thread of all dialogues, longer than 16k.",
            f"1M is asked on a stratified subset of {AT_A_MILLION} questions, as in the paper.",
            *notes(lab, table),
            INTERVAL,
        ),
        drawing=lines(
            [
                Line(
                    label=system,
                    points=tuple(some),
                    colour=base_colour(system),
                )
                for system, some in points.items()
            ],
            title=table.title,
            description="All evidence in context by length of thread, one line per system.",
            x_label="tokens of the thread",
            ticks=ticks,
        ),
        used=used,
    )


def cost(lab: Lab, table: Reproduction) -> Page:
    """What systems keep, and how long they take."""
    rows, shown, used = [], [], []
    dimension = lab.embedder().dimension
    for threads, system in combinations(lab, table, ahead=False):
        kept = retrieval(lab.retrieve(system, threads, cold=True)).kept
        if kept is None:
            raise DataError(f"the rows of {system} do not say what it keeps; choose another --out")
        many = len(threads.packages)
        row = {
            "length": length(threads.target), "system": system, "vectors": kept.vectors / many,
            "megabytes": kept.vectors / many * dimension * 4 / 1e6,
            "amplification": kept.text_amplification, "ingest_ms": kept.ingest_ms_per_turn,
            "p50_ms": kept.retrieve_p50_ms, "p95_ms": kept.retrieve_p95_ms,
            "llm_calls": (kept.llm_calls or 0) / many,
        }  # fmt: skip
        rows.append({**row, **_paper_cost(system, threads.target)})
        shown.append(
            Bar(
                label=label_of(threads, table, system),
                value=kept.retrieve_p50_ms,
                colour=base_colour(system),
            )
        )
        used.append(threads)
    both = (
        ("vectors", "vectors", count), ("megabytes", "MB", fine),
        ("amplification", "text ×", fine), ("ingest_ms", "ingest ms/turn", fine),
        ("p50_ms", "p50 ms", fine), ("p95_ms", "p95 ms", fine),
    )  # fmt: skip
    columns = (
        SYSTEM, *lengths(table),
        *(Column(key=key, head=head, form=form) for key, head, form in both),
        Column(key="llm_calls", head="LLM calls", form=count),
        *(Column(key=f"paper_{key}", head=f"paper {head}", form=form) for key, head, form in both),
    )  # fmt: skip
    return page(
        lab,
        table,
        about=(
            table.about,
            "Vectors, megabytes and calls are of one thread, on average. Megabytes are those of "
            "32-bit vectors alone. Text ×: words of all indexed texts over words of the thread.",
            described(lab, used),
        ),
        tables=[Table(columns=columns, rows=tuple(rows))],
        notes=(
            "Every text was embedded again, none taken from the cache. Times are of this machine: "
            f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}.",
            "tuned_hybrid keeps one vector per token, in half precision: its megabytes are half of "
            "what is shown. raptor builds its tree at the first request, so its ingest looks "
            "cheap.",
            *notes(lab, table),
        ),
        drawing=bars(
            shown,
            title=table.title,
            description="Median time of a request in milliseconds.",
            most=max(bar.value for bar in shown) or 1.0,
            form=lambda value: f"{value:.1f} ms",
        ),
        used=used,
    )


def _paper_cost(system: str, target: int) -> dict[str, Any]:
    line = paper.COST.lines.get(system) if target == paper.TARGET else None
    return {f"paper_{key}": value for key, value in asdict(line).items()} if line else {}


def _lengths_possible(
    lab: Lab, targets: Sequence[int]
) -> tuple[list[Threads], list[tuple[int, str]]]:
    used, missing = [], []
    for target in targets:
        try:
            used.append(lab.threads(target, AT_A_MILLION if target >= 1_000_000 else None))
        except DataError as error:
            if "tokens of noise" not in str(error):
                raise
            missing.append((target, str(error)))
    if not used:
        raise DataError(f"no length can be built: {missing[0][1]}")
    return used, missing


def _left_of(used: Sequence[Threads]) -> float:
    """The place of length 0 on an axis of doublings: one step before the shortest."""
    return min((math.log2(t.target) for t in used if t.target), default=1.0) - 1


def _mean_tokens(threads: Threads) -> float:
    total: int = sum(package.stats["tokens"] for package in threads.packages)
    return total / len(threads.packages)
