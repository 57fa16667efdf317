"""The closed loop by parts of the questions: what makes them hard, and their domain."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scaleqa import paper
from scaleqa.evaluate import Row
from scaleqa.pages.drawings import Bar, bars
from scaleqa.pages.forms import count, span, text
from scaleqa.pages.page import Page
from scaleqa.pages.table import Column, Table
from scaleqa.records import DOMAINS
from scaleqa.report.palette import base_colour
from scaleqa.reproduce.lab import Lab
from scaleqa.reproduce.loops import figures, what
from scaleqa.reproduce.reproduction import (
    INTERVAL,
    Reproduction,
    answered,
    combinations,
    described,
    notes,
    page,
)
from scaleqa.specs import Spec
from scaleqa.stats import wilson

LABELS = ("state_overwrite", "long_range_bridge", "constraint_trap")
Found = Mapping[str, Sequence[Row]]


def stress(lab: Lab, table: Reproduction) -> Page:
    """CL hit by what makes a question hard, and by domain."""
    found: dict[str, list[Row]] = {system: [] for system in table.systems}
    used = []
    for threads, system in combinations(lab, table):
        found[system] += lab.loop(system, threads)
        used.append(threads)
    beside, answers = paper.TARGET in table.targets, answered(lab)
    primary = _broken(found, LABELS, lambda row: row.stress[:1])
    anyhow = _broken(found, LABELS, lambda row: row.stress)
    domains = _broken(found, DOMAINS, lambda row: (row.domain or "",))
    for label, hits in paper.STRESS.lines.items() if beside else ():
        at = next((n for n, row in enumerate(anyhow, 1) if row["part"] == label), 0)
        anyhow.insert(at, {"part": "– paper, 300 questions", **hits})
    tables = [
        _table("CL hit by any stress label", table, anyhow),
        _table("CL hit by primary stress label", table, primary),
        _table("CL hit by domain", table, domains),
    ]
    if answers:
        block = paper.block_of(lab.sources.backend.identity) if beside else ""
        tables.append(_accuracy_by_domain(table, found, block))
    return page(
        lab,
        table,
        about=(table.about, what(answers=answers), described(lab, used)),
        tables=tables,
        notes=(
            *notes(lab, table),
            "A question may have several labels. The paper's figures are those of GPT-4o-mini on "
            "300 questions that people had read and labelled; ours are labelled by their authors.",
            INTERVAL,
        ),
        drawing=_drawn(table, found),
        used=used,
    )


def _broken(
    found: Found, parts: Sequence[str], labels: Callable[[Row], Sequence[str]]
) -> list[dict[str, Any]]:
    out = []
    for part in parts:
        line: dict[str, Any] = {"part": part}
        for system, rows in found.items():
            hits = [row.hit for row in rows if part in labels(row)]
            line["questions"] = len(hits)
            if hits:
                line[system] = sum(hits) / len(hits)
                line[f"{system} interval"] = wilson(sum(hits), len(hits))
        out.append(line)
    return [line for line in out if line["questions"]]


def _table(title: str, table: Reproduction, rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        Column(key="part", head="part", form=text),
        Column(key="questions", head="questions", form=count),
        *(
            Column(
                key=system,
                head=system,
                below=(Column(key=f"{system} interval", head="95 %", form=span),),
            )
            for system in table.systems
        ),
    )
    return Table(title=title, columns=columns, rows=tuple(rows))


def _accuracy_by_domain(table: Reproduction, found: Found, block: str) -> Table:
    rows = []
    for domain in DOMAINS:
        line: dict[str, Any] = {"part": domain}
        for system, all_rows in found.items():
            here = [row for row in all_rows if row.domain == domain]
            line["questions"] = len(here)
            if here:
                own = figures(here)
                line[system] = own["accuracy"]
                line[f"{system} interval"] = own["accuracy_interval"]
        line["paper"] = paper.DOMAINS.lines[domain][block] if block else None
        rows.append(line)
    title = f"Accuracy by domain{f'; the paper with {block}' if block else ''}"
    plain = _table(title, table, rows)
    column = Column(key="paper", head="paper, tsim_official")
    return Table(title=title, columns=(*plain.columns, column), rows=plain.rows)


def _drawn(table: Reproduction, found: Found) -> str:
    shown = []
    for line in _broken(found, LABELS, lambda row: row.stress):
        for system in table.systems:
            low, high = line[f"{system} interval"]
            name = Spec.parse(system).name
            theirs = paper.STRESS.lines[line["part"]]
            shown.append(
                Bar(
                    label=f"{name} · {line['part'].rpartition('_')[2]}",
                    value=line[system],
                    low=low,
                    high=high,
                    colour=base_colour(system),
                    mark=theirs.get(system) if paper.TARGET in table.targets else None,
                )
            )
    return bars(
        shown,
        title=table.title,
        description="CL hit by any stress label, with Wilson intervals.",
        mark_name="the paper's",
    )
