"""Our own method beside the paper's, its rivals and perfect boundaries, at the same budget."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from scaleqa.evaluate import Diagnosis
from scaleqa.packages.resume import NAMED, UNNAMED
from scaleqa.report.svg import PALETTE, Bar, bars
from scaleqa.reproduce.lab import Lab, Mix, Threads, length
from scaleqa.reproduce.page import Column, Grid, Page, count, span, text
from scaleqa.reproduce.table import INTERVAL, SYSTEM, Table, described, notes
from scaleqa.specs import Spec
from scaleqa.stats import mcnemar, paired_bootstrap, wilson
from scaleqa.systems import find_system, with_budget
from scaleqa.systems.tsim import PARTS

OURS = "tsim"
SEED = 7
BRAID: Mix = "braid"
# Tokens for block-mixed threads and for braided ones.
BUDGETS: dict[Mix, int] = {"blocks": 500, BRAID: 750}
# Tokens for topics that resume: two dialogues have to fit.
RESUMED = 750
# The part of our method that follows a topic to where it resumes.
REENTRY = "reentry"
# Beyond this length, systems that are slow to read a thread are left out.
LONG = 200_000


def late(lab: Lab, table: Table) -> Page:
    """Systems at the same budget by setting; our method less each of its parts; sequels."""
    settings: list[tuple[int, Mix]] = [(target, "blocks") for target in table.targets]
    settings.append((min(table.targets), BRAID))
    parts_run = len(_parts("blocks")) + len(_parts(BRAID))
    resuming = _resuming(table) if lab.sources.sequels else []
    lab.expect(len(settings) * len(table.systems) + parts_run + len(resuming))
    rows: list[Mapping[str, Any]] = []
    parts: list[Mapping[str, Any]] = []
    drawn: list[Bar] = []
    used = []
    for target, mix in settings:
        threads = lab.threads(target, mix=mix)
        used.append(threads)
        where = f"{length(target)}{', braided' if mix == BRAID else ''}"
        found = {spec: lab.retrieve(spec, threads) for spec in _specs(table, target, BUDGETS[mix])}
        ours = next(iter(found.values()))
        for spec, one in found.items():
            rows.append({"where": where, "system": spec, **_row(threads, one, ours)})
            drawn.append(_bar(BRAID if mix == BRAID else length(target), spec, one))
        if target == min(table.targets):
            for part in _parts(mix):
                less = lab.retrieve(f"{OURS}:budget={BUDGETS[mix]},off={part}", threads)
                parts.append({"where": where, "off": part, **_row(threads, less, ours)})
    grids = [
        Grid(columns=(WHERE, SYSTEM, *COLUMNS), rows=tuple(rows)),
        Grid(
            title="Without one part",
            columns=(WHERE, Column(key="off", head="without", form=text), *COLUMNS),
            rows=tuple(parts),
        ),
    ]
    if resuming:
        grid, more, threads = _resumed(lab, table, resuming)
        grids.append(grid)
        drawn += more
        used.append(threads)
    return Page(
        title=table.title,
        about=(
            table.about,
            "In context: the context holds every evidence turn. Constants were chosen on split s1 "
            "of the records (docs/method.md names the exceptions). The difference is ours less the "
            "system's, paired by question.",
            " ".join(described(lab, [threads]) for threads in used),
        ),
        grids=tuple(grids),
        notes=(
            *notes(lab, table),
            INTERVAL,
            "perfect_episodes is told where every dialogue begins and ends.",
            *([RESUMING] if resuming else []),
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
KINDS = {NAMED: "named", UNNAMED: "unnamed"}
RESUMING = (
    "Topics that resume: of threads with sequels (docs/benchmark.md), the questions that have one. "
    "Their evidence is what changed and what of the record still counts. Named: the sequel says "
    "the name that the question uses."
)


def _parts(mix: Mix) -> list[str]:
    """The parts that play a part: gaps do in plain streams alone, links in mixed ones alone."""
    idle = ("boundaries", "speakers") if mix == BRAID else ("links",)
    return [part for part in PARTS if part not in idle]


def _resuming(table: Table) -> list[str]:
    """The systems for topics that resume: ours, ours without the part for it, the table's."""
    ours = f"{OURS}:budget={RESUMED}"
    rest = _specs(table, min(table.targets), RESUMED)
    return [*dict.fromkeys((ours, f"{ours},off={REENTRY}", *rest))]


def _resumed(lab: Lab, table: Table, specs: list[str]) -> tuple[Grid, list[Bar], Threads]:
    """Measures systems on the questions that have a sequel."""
    threads = _with_sequel(lab.threads(min(table.targets), sequels=True))
    where = f"{length(threads.target)}, resumed"
    kinds = {q.id: KINDS[q.stress[-1]] for package in threads.packages for q in package.queries}
    found = {spec: lab.retrieve(spec, threads) for spec in specs}
    ours = found[specs[0]]
    rows = [
        {"where": where, "system": spec, **_row(threads, one, ours), **_shares(one, kinds)}
        for spec, one in found.items()
    ]
    named = tuple(Column(key=kind, head=kind) for kind in KINDS.values())
    every, *others = COLUMNS
    columns = (WHERE, SYSTEM, *named, replace(every, head="all"), *others)
    drawn = [_bar("resumed", spec, one) for spec, one in found.items()]
    return Grid(title="Topics that resume", columns=columns, rows=tuple(rows)), drawn, threads


def _with_sequel(threads: Threads) -> Threads:
    """The same threads with the questions that have a sequel."""
    packages = (
        replace(package, queries=tuple(q for q in package.queries if q.stress[-1] in KINDS))
        for package in threads.packages
    )
    return replace(
        threads,
        name=f"{threads.name}-asked",
        packages=tuple(package for package in packages if package.queries),
    )


def _specs(table: Table, target: int, budget: int) -> Iterator[str]:
    """Holds systems without options to the budget, as far as they can be."""
    for system in table.systems:
        spec = Spec.parse(system)
        if target > LONG and find_system(spec.name).slow_to_ingest:
            continue
        yield system if spec.options else with_budget(system, budget)


def _row(threads: Threads, one: Diagnosis, ours: Diagnosis) -> dict[str, Any]:
    splits = {q.id: q.split for package in threads.packages for q in package.queries}
    hits = {result.id: result.in_context for result in one.results}
    row: dict[str, Any] = {
        "in_context": one.recall_in_context,
        "interval": wilson(sum(hits.values()), len(hits)),
        "context_tokens": one.context_tokens,
    }
    row |= _shares(one, splits)
    if one is not ours:
        best = [result.in_context for result in ours.results]
        other = [hits[result.id] for result in ours.results]
        difference = paired_bootstrap(best, other, seed=SEED)
        row["difference"] = difference.difference
        row["difference_interval"] = difference.interval
        row["mcnemar_p"] = mcnemar(best, other)
    return row


def _shares(one: Diagnosis, groups: Mapping[str, str]) -> dict[str, float]:
    """The share of questions with all evidence in context, by group."""
    shares = {}
    for group in sorted({*groups.values()}):
        own = [result.in_context for result in one.results if groups[result.id] == group]
        shares[group] = sum(own) / len(own)
    return shares


def _bar(where: str, spec: str, one: Diagnosis) -> Bar:
    """Names a bar as shortly as a picture can: budgets stand in the table."""
    parsed = Spec.parse(spec)
    off = parsed.options.get("off")
    interval = wilson(sum(result.in_context for result in one.results), one.questions)
    return Bar(
        label=f"{where} · {f'off={off}' if off else parsed.name}",
        value=one.recall_in_context,
        low=interval.low,
        high=interval.high,
        colour=PALETTE[0] if parsed.name == OURS and not off else PALETTE[1],
    )
