"""Tables of size: what longer threads do to recall, and what systems keep and take."""

import math
import os
import platform
from collections.abc import Sequence

from scaleqa.errors import DataError
from scaleqa.report.svg import Bar, Line, Point, bars, colours, lines
from scaleqa.reproduce import printed
from scaleqa.reproduce.lab import Lab, Threads, length
from scaleqa.reproduce.page import Column, Grid, Page, count, fine, span
from scaleqa.reproduce.retrieval import (
    CONTEXT,
    PAPER_RECALL,
    RECALL,
    TOKENS,
    WHAT,
    recall_row,
)
from scaleqa.reproduce.table import (
    FULL,
    INTERVAL,
    LENGTH,
    SYSTEM,
    Table,
    combinations,
    described,
    label_of,
    lengths,
    notes,
)
from scaleqa.specs import Spec
from scaleqa.stats import wilson

QUESTIONS = Column(key="questions", head="questions", form=count)
# More questions than this add nothing at the greatest length but time.
AT_A_MILLION = 400


def scaling(lab: Lab, table: Table) -> Page:
    """Recall and context by length."""
    used, missing = _lengths_possible(lab, table.targets)
    lab.expect(len(used) * len(table.systems))
    rows = []
    points: dict[str, list[Point]] = {system: [] for system in table.systems}
    identity = lab.embedder().identity
    for threads in used:
        for system in table.systems:
            found = lab.retrieve(system, threads)
            hits = sum(result.in_context for result in found.results)
            low, high = wilson(hits, found.questions)
            mark = printed.recall(system, identity, threads.target)
            rows.append({
                **recall_row(threads, found), "context_interval": (low, high), "paper_recall": mark,
                "threads": len(threads.packages),
                "thread_tokens": _mean_tokens(threads),
            })  # fmt: skip
            x = math.log2(threads.target) if threads.target else _left_of(used)
            points[system].append(Point(x=x, y=hits / found.questions, low=low, high=high))
    columns = (
        LENGTH, Column(key="threads", head="threads", form=count),
        Column(key="thread_tokens", head="tokens a thread", form=count), QUESTIONS, SYSTEM, *RECALL,
        CONTEXT, Column(key="context_interval", head="95 %", form=span), TOKENS, PAPER_RECALL,
    )  # fmt: skip
    ticks = [(math.log2(t.target) if t.target else _left_of(used), length(t.target)) for t in used]
    shades = colours([Spec.parse(system).name for system in table.systems])
    return Page(
        title=table.title,
        about=(table.about, WHAT, described(lab, used)),
        grids=(Grid(columns=columns, rows=tuple(rows)),),
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
                    colour=shades[Spec.parse(system).name],
                )
                for system, some in points.items()
            ],
            title=table.title,
            description="All evidence in context by length of thread, one line a system.",
            x_label="tokens of the thread",
            ticks=ticks,
        ),
    )


def cost(lab: Lab, table: Table) -> Page:
    """What systems keep, and how long they take."""
    rows, shown, used = [], [], []
    dimension = lab.embedder().dimension
    for threads, system in combinations(lab, table):
        found = lab.retrieve(system, threads, cached=False)
        many = len(threads.packages)
        row = {
            "length": length(threads.target), "system": system, "vectors": found.vectors / many,
            "megabytes": found.vectors / many * dimension * 4 / 1e6,
            "amplification": found.text_amplification, "ingest_ms": found.ingest_ms_per_turn,
            "p50_ms": found.retrieve_p50_ms, "p95_ms": found.retrieve_p95_ms,
            "llm_calls": found.llm_calls / many,
        }  # fmt: skip
        rows.append({**row, **(printed.COST.get(system, {}) if threads.target == FULL else {})})
        name = Spec.parse(system).name
        shown.append(
            Bar(
                label=label_of(threads, table, system),
                value=found.retrieve_p50_ms,
                colour=colours([name])[name],
            )
        )
        used.append(threads)
    both = (
        ("vectors", "vectors", count), ("megabytes", "MB", fine),
        ("amplification", "text ×", fine), ("ingest_ms", "ingest ms/turn", fine),
        ("p50_ms", "p50 ms", fine), ("p95_ms", "p95 ms", fine),
    )  # fmt: skip
    columns = (
        *lengths(table), SYSTEM,
        *(Column(key=key, head=head, form=form) for key, head, form in both),
        Column(key="llm_calls", head="LLM calls", form=count),
        *(Column(key=f"paper_{key}", head=f"paper {head}", form=form) for key, head, form in both),
    )  # fmt: skip
    return Page(
        title=table.title,
        about=(
            table.about,
            "Vectors, megabytes and calls are of one thread, on average. Megabytes are those of "
            "32-bit vectors alone. Text ×: words of all indexed texts over words of the thread.",
            described(lab, used),
        ),
        grids=(Grid(columns=columns, rows=tuple(rows)),),
        notes=(
            "Every text was embedded anew, none taken from the cache. Times are of this machine: "
            f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}.",
            "tuned_hybrid keeps a vector a token, in half precision: its megabytes are half of "
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
    )


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
    """Where length 0 stands on an axis of doublings: one step before the shortest."""
    return min((math.log2(t.target) for t in used if t.target), default=1.0) - 1


def _mean_tokens(threads: Threads) -> float:
    total: int = sum(package.stats["tokens"] for package in threads.packages)
    return total / len(threads.packages)
