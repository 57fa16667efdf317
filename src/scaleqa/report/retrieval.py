"""Pages about retrieval alone: whether the evidence came back, by what, at what cost."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from scaleqa import paper
from scaleqa.pages.forms import count, fine, share, signed, signed_span, span, tenths, text
from scaleqa.pages.page import Block, Facts, Notes, Page, Paragraph, Section
from scaleqa.pages.table import Column, Table, interval
from scaleqa.report.retrieved import Retrieved, Run

SYSTEM = Column(key="system", head="system", form=text)
IN_CONTEXT = Column(key="in_context", head="in context")
RECALL = Column(key="recall", head="recall@5")
TOKENS = Column(key="tokens", head="context tokens", form=count)
MAIN = (
    SYSTEM,
    RECALL,
    interval("recall_interval"),
    IN_CONTEXT,
    Column(key="together", head="co-containment"),
    TOKENS,
    Column(key="paper_large", head="paper recall@5, BGE-large"),
    Column(key="paper_small", head="paper recall@5, MiniLM"),
    Column(key="paper_together", head="paper co-containment"),
)
AGAINST = (
    SYSTEM,
    IN_CONTEXT,
    interval("in_context_interval"),
    RECALL,
    TOKENS,
    Column(key="difference", head="difference", form=signed),
    interval("difference_interval", form=signed_span),
    Column(key="p", head="McNemar's p", form=lambda value: f"{value:.2g}"),
)
COST = (
    SYSTEM,
    Column(key="vectors", head="vectors", form=count),
    Column(key="amplification", head="text ×", form=fine),
    Column(key="ingest_ms", head="ingest ms per turn", form=fine),
    Column(key="p50_ms", head="p50 ms", form=fine),
    Column(key="p95_ms", head="p95 ms", form=fine, joined=True),
)
WHAT = (
    "Recall@5: the best five units together hold every evidence turn. In context: the whole "
    "context does. Co-containment: one unit holds all, of questions with several evidence turns."
)
ORIENTATION = "The paper's records, noise and models are not ours: its figures are for orientation."


def retrieval_page(systems: Sequence[Retrieved], run: Run) -> Page:
    """Lays out what systems retrieved.

    Args:
        systems: Their figures; the first is the one that others are compared with.
        run: What was run.
    """
    blocks: list[Block] = [main_table(systems, run.target)]
    if any(one.against for one in systems):
        blocks.append(against_table(systems))
    if any(one.groups for one in systems):
        blocks.append(_groups(systems, run.grouping))
    if any(one.cost for one in systems):
        blocks.append(Table(title="Kept and taken", columns=COST, rows=_costs(systems)))
    if any(one.views for one in systems):
        blocks.append(_views(systems, run.target))
    if run.beside:
        blocks += [Paragraph(text=f"Paper: {run.beside.source}."), _transferred(run.beside)]
    notes = ["Intervals of shares are Wilson's, 95 %."]
    if any(one.cost for one in systems):
        notes.append("Times include embedding, as far as it was not cached before.")
    if run.target == paper.TARGET or run.beside:
        notes.append(ORIENTATION)
    return generated(run, [Paragraph(text=WHAT)], [*blocks, Notes(items=tuple(notes))])


def main_table(systems: Sequence[Retrieved], target: int | None = None) -> Table:
    """The main table, with the paper's figures where it has some for this length."""
    rows = tuple({**_shares(one), **_paper(one.system, target)} for one in systems)
    return Table(title="Retrieval", columns=MAIN, rows=rows).filled()


def against_table(systems: Sequence[Retrieved]) -> Table:
    """The difference of each system to the first."""
    rows = []
    for one in systems:
        row = _shares(one)
        if one.against:
            row |= {
                "difference": one.against.difference,
                "difference_interval": one.against.interval,
                "p": one.against.mcnemar_p,
            }
        rows.append(row)
    title = f"Difference to {systems[0].system} on the same questions, all evidence in context"
    return Table(title=title, columns=AGAINST, rows=tuple(rows))


def generated(run: Run, about: Sequence[Block], blocks: Sequence[Block]) -> Page:
    """A page that says how it was generated, and from what."""
    made = run.provenance.facts if run.provenance else ()
    facts = (("Embedder", run.embedder), *run.facts, *made)
    return Page(
        title=run.title,
        introduction=(
            Paragraph(text=f"This page is generated: `{run.command}`."),
            Facts(items=facts),
            *about,
        ),
        sections=(Section(blocks=tuple(blocks)),),
    )


def _shares(one: Retrieved) -> dict[str, Any]:
    return {
        "system": one.system,
        "recall": one.recall.value,
        "recall_interval": one.recall.interval,
        "in_context": one.in_context.value,
        "in_context_interval": one.in_context.interval,
        "together": one.together,
        "tokens": one.tokens,
    }


def _paper(system: str, target: int | None) -> dict[str, Any]:
    return {
        "paper_large": paper.recall(system, paper.LARGE, target),
        "paper_small": paper.recall(system, paper.SMALL, target),
        "paper_together": paper.together(system, target),
    }


def _groups(systems: Sequence[Retrieved], grouping: str) -> Table:
    questions = {name: s.questions for one in systems for name, s in one.groups.items()}
    names = sorted(questions)
    columns = (
        SYSTEM,
        *(
            Column(
                key=name,
                head=f"{name} ({questions[name]})",
                below=(Column(key=f"{name} interval", head="95 %", form=span),),
                heat=True,
            )
            for name in names
        ),
    )
    rows = []
    for one in systems:
        row: dict[str, Any] = {"system": one.system}
        for name, held in one.groups.items():
            row |= {name: held.value, f"{name} interval": held.interval}
        rows.append(row)
    title = f"All evidence in context by {grouping} (number of questions)"
    return Table(title=title, columns=columns, rows=tuple(rows))


def _costs(systems: Sequence[Retrieved]) -> tuple[dict[str, Any], ...]:
    rows = []
    for one in systems:
        row: dict[str, Any] = {"system": one.system}
        row |= asdict(one.cost) if one.cost else {}
        rows.append(row)
    return tuple(rows)


def _views(systems: Sequence[Retrieved], target: int | None) -> Table:
    beside = target == paper.TARGET
    rows = []
    for one in systems:
        theirs = paper.VIEWS.lines if beside and one.system == "tsim_official" else {}
        rows += [
            {"system": one.system, "view": view, "rate": rate, "paper": theirs.get(view)}
            for view, rate in sorted(one.views.items())
        ]
    columns = (
        SYSTEM,
        Column(key="view", head="view", form=text),
        Column(key="rate", head="hit rate", form=share),
        Column(key="paper", head="paper, BGE-large", form=share),
    )
    return Table(title="Views that lead to evidence", columns=columns, rows=tuple(rows)).filled()


def _transferred(printed: paper.Printed[str, paper.Transferred]) -> Table:
    columns = (
        Column(key="method", head="method", form=text),
        Column(key="recall", head="in context"),
        Column(key="tokens", head="context tokens", form=tenths),
    )
    rows = tuple(
        {"method": line.method, "recall": line.recall, "tokens": line.tokens}
        for line in printed.lines.values()
    )
    return Table(title="The paper", columns=columns, rows=rows)
