"""Our own method beside the paper's, its rivals and perfect boundaries, at the same budget."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scaleqa.evaluate import Row
from scaleqa.figures.retrieval import against, in_context_by, retrieval
from scaleqa.figures.shares import share
from scaleqa.lengths import length
from scaleqa.packages.resume import NAMED, UNNAMED
from scaleqa.pages.drawings import PALETTE, Bar, bars
from scaleqa.pages.forms import count, signed, text
from scaleqa.pages.page import Page
from scaleqa.pages.table import Column, Table, interval
from scaleqa.reproduce.lab import Lab, Mix, Threads
from scaleqa.reproduce.reproduction import (
    INTERVAL,
    SYSTEM,
    Reproduction,
    described,
    notes,
    page,
)
from scaleqa.specs import Spec
from scaleqa.systems import find_system, with_budget
from scaleqa.systems.tsim import PARTS

OURS = "tsim"
BRAID: Mix = "braid"
# Tokens for block-mixed threads and for braided ones.
BUDGETS: dict[Mix, int] = {"blocks": 500, BRAID: 750}
# Tokens for topics that resume: two dialogues have to fit.
RESUMED = 750
# The part of our method that follows a topic to where it resumes.
REENTRY = "reentry"
# Beyond this length, systems that are slow to read a thread are left out.
LONG = 200_000


def late(lab: Lab, table: Reproduction) -> Page:
    """Systems at the same budget by setting; our method less each of its parts; sequels."""
    settings: list[tuple[int, Mix]] = [(target, "blocks") for target in table.targets]
    settings.append((min(table.targets), BRAID))
    parts_run = len(_parts("blocks")) + len(_parts(BRAID))
    resuming = resuming_specs(table) if lab.sources.sequels else []
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
            rows.append({"where": where, "system": spec, **_row(one, ours)})
            drawn.append(_bar(BRAID if mix == BRAID else length(target), spec, one))
        if target == min(table.targets):
            for part in _parts(mix):
                less = lab.retrieve(f"{OURS}:budget={BUDGETS[mix]},off={part}", threads)
                parts.append({"where": where, "off": part, **_row(less, ours)})
    tables = [
        Table(columns=(SYSTEM, WHERE, *COLUMNS), rows=tuple(rows)),
        Table(
            title="Without one part",
            columns=(Column(key="off", head="without", form=text), WHERE, *COLUMNS),
            rows=tuple(parts),
        ),
    ]
    if resuming:
        asked, more, threads = resumed(lab, table, resuming)
        tables.append(asked)
        drawn += more
        used.append(threads)
    return page(
        lab,
        table,
        about=(
            table.about,
            "In context: the context holds every evidence turn. Constants were chosen on split s1 "
            "of the records (docs/method.md names the exceptions). The difference is ours less the "
            "system's, paired by question.",
            described(lab, used),
        ),
        tables=tables,
        notes=(
            *notes(lab, table),
            INTERVAL,
            "perfect_episodes is given the boundaries of every dialogue.",
            *([RESUMING] if resuming else []),
        ),
        drawing=bars(
            drawn, title=table.title, description="All evidence in context, Wilson intervals."
        ),
        used=used,
    )


WHERE = Column(key="where", head="threads", form=text)
COLUMNS = (
    Column(key="in_context", head="in context"),
    interval("interval"),
    Column(key="s1", head="s1"),
    Column(key="s2", head="s2"),
    Column(key="context_tokens", head="context tokens", form=count),
    Column(key="difference", head="ours less this", form=signed),
    interval("difference_interval"),
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


def resuming_specs(table: Reproduction) -> list[str]:
    """The systems for topics that resume: ours, ours without the part for it, the table's."""
    ours = f"{OURS}:budget={RESUMED}"
    rest = _specs(table, min(table.targets), RESUMED)
    return [*dict.fromkeys((ours, f"{ours},off={REENTRY}", *rest))]


def resumed(lab: Lab, table: Reproduction, specs: list[str]) -> tuple[Table, list[Bar], Threads]:
    """Measures systems on the questions that have a sequel."""
    threads = _with_sequel(lab.threads(min(table.targets), sequels=True))
    where = f"{length(threads.target)}, resumed"
    found = {spec: lab.retrieve(spec, threads) for spec in specs}
    ours = found[specs[0]]
    rows = [
        {"where": where, "system": spec, **_row(one, ours), **_shares(one, _kind)}
        for spec, one in found.items()
    ]
    named = tuple(Column(key=kind, head=kind) for kind in KINDS.values())
    every, *others = COLUMNS
    columns = (SYSTEM, WHERE, *named, replace(every, head="all"), *others)
    drawn = [_bar("resumed", spec, one) for spec, one in found.items()]
    return Table(title="Topics that resume", columns=columns, rows=tuple(rows)), drawn, threads


def _with_sequel(threads: Threads) -> Threads:
    """The same threads with the questions that have a sequel."""
    packages = (
        replace(package, questions=tuple(q for q in package.questions if q.stress[-1] in KINDS))
        for package in threads.packages
    )
    return replace(
        threads,
        name=f"{threads.name}-asked",
        packages=tuple(package for package in packages if package.questions),
    )


def _specs(table: Reproduction, target: int, budget: int) -> Iterator[str]:
    """Holds systems without options to the budget, as far as they can be."""
    for system in table.systems:
        spec = Spec.parse(system)
        if target > LONG and find_system(spec.name).slow_to_ingest:
            continue
        yield system if spec.options else with_budget(system, budget)


def _row(one: Sequence[Row], ours: Sequence[Row]) -> dict[str, Any]:
    figures = retrieval(one)
    row: dict[str, Any] = {
        "in_context": figures.in_context.value,
        "interval": figures.in_context.interval,
        "context_tokens": figures.context_tokens,
        **_shares(one, lambda question: question.split),
    }
    if one is not ours:
        compared = against(ours, one)
        row["difference"] = compared.difference.difference
        row["difference_interval"] = compared.difference.interval
        row["mcnemar_p"] = compared.mcnemar_p
    return row


def _shares(rows: Sequence[Row], part: Callable[[Row], str | None]) -> dict[str, float]:
    """The share of questions with all evidence in context, by part of the questions."""
    return {name: share.value for name, share in in_context_by(rows, part).items()}


def _kind(row: Row) -> str:
    """Whether the sequel of a question says the name that the question uses."""
    return KINDS[row.stress[-1]]


def _bar(where: str, spec: str, rows: Sequence[Row]) -> Bar:
    """Names a bar as shortly as a picture can: budgets are in the table."""
    parsed = Spec.parse(spec)
    off = parsed.options.get("off")
    found = share(row.hit for row in rows)
    return Bar(
        label=f"{where} · {f'off={off}' if off else parsed.name}",
        value=found.value,
        low=found.interval.low,
        high=found.interval.high,
        colour=PALETTE[0] if parsed.name == OURS and not off else PALETTE[1],
    )
