"""Our own method beside the paper's, its rivals and perfect boundaries, at the same budget."""

from collections.abc import Iterator, Mapping
from typing import Any

from scaleqa.evaluate import Diagnosis
from scaleqa.report.svg import Bar, bars
from scaleqa.reproduce.lab import Lab, Mix, Threads, length
from scaleqa.reproduce.page import Column, Grid, Page, count, span, text
from scaleqa.reproduce.table import INTERVAL, SYSTEM, Table, described, notes
from scaleqa.stats import mcnemar, paired_bootstrap, wilson
from scaleqa.systems.tsim import PARTS

OURS = "tsim_late"
SEED = 7
BRAID: Mix = "braid"
# Tokens for block-mixed threads and for braided ones.
BUDGETS: dict[Mix, int] = {"blocks": 500, BRAID: 750}
# Beyond this length, systems that are slow to read a thread are left out.
LONG = 200_000
SLOW = ("tuned_hybrid", "perfect_episodes")


def late(lab: Lab, table: Table) -> Page:
    """Systems at the same budget by setting and split; then our method less each of its parts."""
    settings: list[tuple[int, Mix]] = [(target, "blocks") for target in table.targets]
    settings.append((min(table.targets), BRAID))
    parts_run = len(_parts("blocks")) + len(_parts(BRAID))
    lab.expect(len(settings) * len(table.systems) + parts_run)
    rows: list[Mapping[str, Any]] = []
    parts: list[Mapping[str, Any]] = []
    drawn: list[Bar] = []
    used = []
    for target, mix in settings:
        threads = lab.threads(target, mix=mix)
        used.append(threads)
        where = f"{length(target)}{', braided' if mix == BRAID else ''}"
        found = {spec: lab.retrieve(spec, threads) for spec in _specs(table, target, mix)}
        ours = next(iter(found.values()))
        for spec, one in found.items():
            rows.append({"where": where, "system": spec, **_row(threads, one, ours)})
            drawn.append(_bar(f"{where} · {spec}", one))
        if target == min(table.targets):
            for part in _parts(mix):
                less = lab.retrieve(f"{OURS}:budget={BUDGETS[mix]},off={part}", threads)
                parts.append({"where": where, "off": part, **_row(threads, less, ours)})
    return Page(
        title=table.title,
        about=(
            table.about,
            "In context: the context holds every evidence turn. Constants were chosen on split s1 "
            "of the records (docs/method.md names the exceptions). The difference is ours less the "
            "system's, paired by question.",
            " ".join(described(lab, [threads]) for threads in used),
        ),
        grids=(
            Grid(columns=(WHERE, SYSTEM, *COLUMNS), rows=tuple(rows)),
            Grid(
                title="Without one part",
                columns=(WHERE, Column(key="off", head="without", form=text), *COLUMNS),
                rows=tuple(parts),
            ),
        ),
        notes=(
            *notes(lab, table),
            INTERVAL,
            "perfect_episodes is told where every dialogue begins and ends.",
        ),
        drawing=bars(
            drawn, title=table.title, description="All evidence in context, Wilson intervals."
        ),
    )


WHERE = Column(key="where", head="threads", form=text)
COLUMNS = (
    Column(key="in_context", head="in context"),
    Column(key="interval", head="95 %", form=span),
    Column(key="s1", head="s1"),
    Column(key="s2", head="s2"),
    Column(key="context_tokens", head="context tokens", form=count),
    Column(key="difference", head="ours less this", form=lambda value: f"{value:+.3f}"),
    Column(key="difference_interval", head="95 %", form=span),
    Column(key="mcnemar_p", head="McNemar p", form=lambda value: f"{value:.1g}"),
)


def _parts(mix: Mix) -> list[str]:
    """The parts that play a part: gaps do in plain streams alone, links in mixed ones alone."""
    idle = ("boundaries", "speakers", "fading", "lengths") if mix == BRAID else ("links",)
    return [part for part in PARTS if part not in idle]


def _specs(table: Table, target: int, mix: Mix) -> Iterator[str]:
    """Gives each system the budget of the setting, in its own words."""
    budget = BUDGETS[mix]
    for system in table.systems:
        name, _, rest = system.partition(":")
        if target > LONG and name in SLOW:
            continue
        if rest:
            yield system
        elif name in ("tsim", OURS):
            yield f"{name}:budget={budget}"
        elif name in ("hybrid_rrf", "tuned_hybrid"):
            yield f"{name}:cap={budget}"
        elif name in ("fixed_window", "perfect_episodes"):
            yield f"{name}:k={round(budget / 160)}"
        else:
            yield system


def _row(threads: Threads, one: Diagnosis, ours: Diagnosis) -> dict[str, Any]:
    splits = {q.id: q.split for package in threads.packages for q in package.queries}
    hits = {result.id: result.in_context for result in one.results}
    row: dict[str, Any] = {
        "in_context": one.recall_in_context,
        "interval": wilson(sum(hits.values()), len(hits)),
        "context_tokens": one.context_tokens,
    }
    for split in sorted({*splits.values()}):
        own = [hit for key, hit in hits.items() if splits[key] == split]
        row[split] = sum(own) / len(own)
    if one is not ours:
        best = [result.in_context for result in ours.results]
        other = [hits[result.id] for result in ours.results]
        difference = paired_bootstrap(best, other, seed=SEED)
        row["difference"] = difference.difference
        row["difference_interval"] = difference.interval
        row["mcnemar_p"] = mcnemar(best, other)
    return row


def _bar(label: str, one: Diagnosis) -> Bar:
    interval = wilson(sum(result.in_context for result in one.results), one.questions)
    return Bar(label=label, value=one.recall_in_context, low=interval.low, high=interval.high)
