"""Tables of the closed loop: retrieve, answer, write back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scaleqa.evaluate.metrics import score
from scaleqa.evaluate.rows import Row
from scaleqa.records import DOMAINS
from scaleqa.report import paper
from scaleqa.report.paper import Printed
from scaleqa.report.svg import Bar, bars, colours
from scaleqa.reproduce import printed
from scaleqa.reproduce.lab import Lab, Threads, length
from scaleqa.reproduce.page import Column, Grid, Page, count, share, span, text
from scaleqa.reproduce.table import (
    FULL,
    INTERVAL,
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

WHAT = (
    "Accuracy credits an unanswered question with a quarter, as the paper does; strict accuracy "
    "does not. CL hit: all evidence is in the context, along the closed loop with write-back."
)
FIGURES = (
    Column(key="accuracy", head="accuracy"),
    Column(key="accuracy_interval", head="95 %", form=span),
    Column(key="strict", head="strict"),
    Column(key="strict_interval", head="95 %", form=span),
    Column(key="unanswered", head="unanswered"),
    Column(key="hit", head="CL hit"),
    Column(key="hit_interval", head="95 %", form=span),
    Column(key="rationale", head="rationale"),
    Column(key="tokens", head="tokens", form=count),
)
PAPER = (
    Column(key="paper_accuracy", head="paper accuracy"),
    Column(key="paper_hit", head="paper CL hit"),
    Column(key="paper_rationale", head="paper rationale"),
    Column(key="paper_tokens", head="paper tokens", form=count),
)
LABELS = ("state_overwrite", "long_range_bridge", "constraint_trap")


def main(lab: Lab, table: Table) -> Page:
    """All systems side by side."""
    backend = lab.sources.backend.identity

    def beside(system: str, target: int) -> Printed | None:
        return paper.printed(Spec.parse(system).name, backend, target)

    note = f"The paper's figures are those of {paper.block_of(backend)}."
    return _compared(lab, table, beside, (note,))


def ablation(lab: Lab, table: Table) -> Page:
    """The method's parts, one after another."""

    def beside(system: str, target: int) -> Printed | None:
        return (
            printed.ABLATION[system][1] if system in printed.ABLATION and target == FULL else None
        )

    said = (
        "The paper does not tell the length of L1's windows; five of 256 tokens make the 1,269 it "
        "reports. L2 cuts as L3 does, and searches episodes by one vector each. L4 is our own "
        "method, which the paper does not have.",
        "The paper's figures are those of GPT-4o-mini.",
    )
    return _compared(lab, table, beside, said)


def stress(lab: Lab, table: Table) -> Page:
    """CL hit by what makes a question hard, and by domain."""
    found: dict[str, list[Row]] = {system: [] for system in table.systems}
    used = []
    for threads, system in combinations(lab, table):
        found[system] += lab.loop(system, threads)
        used.append(threads)
    backend = lab.sources.backend.identity
    beside = FULL in table.targets
    primary = _broken(found, LABELS, lambda row: row["stress"][:1])
    anyhow = _broken(found, LABELS, lambda row: row["stress"])
    domains = _broken(found, DOMAINS, lambda row: [row["domain"]])
    for label, hits in printed.STRESS.items() if beside else ():
        at = next((n for n, row in enumerate(anyhow, 1) if row["part"] == label), 0)
        anyhow.insert(at, {"part": "– paper, 300 questions", **{n: (v,) for n, v in hits.items()}})
    grids = [
        _grid("CL hit by any stress label", table, anyhow),
        _grid("CL hit by primary stress label", table, primary),
        _grid("CL hit by domain", table, domains),
    ]
    if not lab.sources.backend.stand_in:
        grids.append(_by_domain(table, found, paper.block_of(backend) if beside else ""))
    return Page(
        title=table.title,
        about=(table.about, WHAT, described(lab, used)),
        grids=tuple(grids),
        notes=(
            *notes(lab, table),
            "A question may have several labels. The paper's figures are those of GPT-4o-mini on "
            "300 questions that people had read and labelled; ours are labelled by their authors.",
            INTERVAL,
        ),
        drawing=_stress_bars(table, found),
    )


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Tells the scores of a run, as columns."""
    scores = score(rows)
    return {
        "questions": scores.questions,
        "accuracy": scores.accuracy,
        "accuracy_interval": wilson(scores.accuracy * scores.questions, scores.questions),
        "strict": scores.strict_accuracy,
        "strict_interval": scores.strict_interval,
        "unanswered": scores.unanswered,
        "hit": scores.hit,
        "hit_interval": scores.hit_interval,
        "rationale": scores.rationale_similarity,
        "tokens": scores.context_tokens,
    }


def _compared(
    lab: Lab,
    table: Table,
    beside: Callable[[str, int], Printed | None],
    said: tuple[str, ...],
) -> Page:
    rows, shown, used = [], [], []
    silent = lab.sources.backend.stand_in
    for threads, system in combinations(lab, table):
        own = figures(lab.loop(system, threads))
        theirs = beside(system, threads.target)
        stage = printed.ABLATION.get(system, ("L4" if system == "tsim" else None, None))[0]
        row = {"length": length(threads.target), "system": system, "stage": stage, **own}
        rows.append({**row, **_as_columns(theirs)})
        shown.append(_bar(threads, table, row, theirs, silent))
        used.append(threads)
    stages = (Column(key="stage", head="stage", form=text),) if table.name == "ablation" else ()
    columns = (*lengths(table), *stages, SYSTEM, *FIGURES, *PAPER)
    return Page(
        title=table.title,
        about=(table.about, WHAT, described(lab, used)),
        grids=(Grid(columns=columns, rows=tuple(rows)),),
        notes=(*said, *notes(lab, table), INTERVAL),
        drawing=bars(
            shown,
            title=table.title,
            description=(
                "CL hit with Wilson intervals." if silent else "Accuracy with Wilson intervals."
            ),
            mark_name="the paper's CL hit" if silent else "the paper's accuracy",
        ),
    )


def _as_columns(line: Printed | None) -> dict[str, Any]:
    if line is None:
        return {}
    return {
        "paper_accuracy": line.accuracy / 100,
        "paper_hit": line.hit / 100,
        "paper_rationale": line.rationale,
        "paper_tokens": line.tokens,
    }


def _bar(
    threads: Threads, table: Table, row: Mapping[str, Any], theirs: Printed | None, silent: bool
) -> Bar:
    """CL hit where no model answers, and accuracy where one does."""
    key = "hit" if silent else "accuracy"
    name = Spec.parse(row["system"]).name
    low, high = row[f"{key}_interval"]
    mark = None if theirs is None else (theirs.hit if silent else theirs.accuracy) / 100
    return Bar(
        label=label_of(threads, table, row["system"]),
        value=row[key],
        low=low,
        high=high,
        colour=colours([name])[name],
        mark=mark,
    )


def _broken(
    found: Mapping[str, Sequence[Row]],
    parts: Sequence[str],
    labels: Callable[[Row], list[str]],
) -> list[dict[str, Any]]:
    out = []
    for part in parts:
        line: dict[str, Any] = {"part": part}
        for system, rows in found.items():
            hits = [row["hit"] for row in rows if part in labels(row)]
            line["questions"] = len(hits)
            if hits:
                line[system] = (sum(hits) / len(hits), *wilson(sum(hits), len(hits)))
        out.append(line)
    return [line for line in out if line["questions"]]


def _grid(title: str, table: Table, rows: Sequence[Mapping[str, Any]]) -> Grid:
    columns = (
        Column(key="part", head="part", form=text),
        Column(key="questions", head="questions", form=count),
        *(Column(key=system, head=system, form=_with_interval) for system in table.systems),
    )
    return Grid(title=title, columns=columns, rows=tuple(rows))


def _with_interval(value: Sequence[float]) -> str:
    first, *interval = value
    return f"{share(first)} ({span(interval)})" if interval else share(first)


def _by_domain(table: Table, found: Mapping[str, Sequence[Row]], block: str) -> Grid:
    rows = []
    for domain in DOMAINS:
        line: dict[str, Any] = {"part": domain}
        for system, all_rows in found.items():
            here = [row for row in all_rows if row["domain"] == domain]
            line["questions"] = len(here)
            if here:
                own = figures(here)
                line[system] = (own["accuracy"], *own["accuracy_interval"])
        line["paper"] = printed.DOMAINS[domain][block] if block else None
        rows.append(line)
    plain = _grid(f"Accuracy by domain{f'; the paper with {block}' if block else ''}", table, rows)
    column = Column(key="paper", head="paper, tsim")
    return Grid(title=plain.title, columns=(*plain.columns, column), rows=plain.rows)


def _stress_bars(table: Table, found: Mapping[str, Sequence[Row]]) -> str:
    shown = []
    for line in _broken(found, LABELS, lambda row: row["stress"]):
        for system in table.systems:
            value, low, high = line[system]
            name = Spec.parse(system).name
            mark = printed.STRESS[line["part"]].get(system) if FULL in table.targets else None
            shown.append(
                Bar(
                    label=f"{name} · {line['part'].rpartition('_')[2]}",
                    value=value,
                    low=low,
                    high=high,
                    colour=colours([name])[name],
                    mark=mark,
                )
            )
    return bars(
        shown,
        title=table.title,
        description="CL hit by any stress label, with Wilson intervals.",
        mark_name="the paper's",
    )
