"""Pages about retrieval alone: whether the evidence came back, by what, at what cost."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scaleqa import paper
from scaleqa.evaluate.rows import Row
from scaleqa.figures.paired import Compared
from scaleqa.figures.retrieval import Retrieval, against, in_context_by, retrieval
from scaleqa.figures.shares import Share
from scaleqa.packages import AS_WRITTEN, Package, track_of
from scaleqa.pages.forms import count, fine, share, signed, signed_span, span, tenths, text
from scaleqa.pages.page import Block, Facts, Notes, Page, Paragraph, Section
from scaleqa.pages.table import Column, Table, interval
from scaleqa.report.provenance import provenance_of
from scaleqa.report.summaries import ABSENCE, absence

SYSTEM = Column(key="system", head="system", form=text)
IN_CONTEXT = Column(key="in_context", head="in context")
IN_PART = Column(key="in_part", head="in part")
RECALL = Column(key="recall", head="recall@5")
TOKENS = Column(key="tokens", head="context tokens", form=count)
MAIN = (
    SYSTEM,
    RECALL,
    interval("recall_interval"),
    IN_CONTEXT,
    IN_PART,
    Column(key="together", head="co-containment"),
    TOKENS,
    *ABSENCE,
    Column(key="paper_large", head="paper recall@5, BGE-large"),
    Column(key="paper_small", head="paper recall@5, MiniLM"),
    Column(key="paper_together", head="paper co-containment"),
)
AGAINST = (
    SYSTEM,
    IN_CONTEXT,
    interval("in_context_interval"),
    IN_PART,
    RECALL,
    TOKENS,
    Column(key="difference", head="difference", form=signed),
    interval("difference_interval", form=signed_span),
    Column(key="p", head="McNemar's p", form=lambda value: f"{value:.2g}"),
)
KEPT = (
    SYSTEM,
    Column(key="vectors", head="vectors", form=count),
    Column(key="text_amplification", head="text ×", form=fine),
    Column(key="embedded_texts", head="texts embedded per turn", form=fine),
    Column(key="llm_calls", head="LLM calls", form=count),
)
TITLES = {"scaleqa": "Results", "longmemeval": "LongMemEval", "locomo": "LoCoMo"}
WHAT = (
    "Recall@5: the best five units together hold every evidence turn. In context: the whole "
    "context does, or of long turns what is marked as evidence. In part: some of every evidence "
    "turn is there, where that makes a difference. Co-containment: one unit holds all, of "
    "questions with several evidence turns."
)
WHAT_ABSENT = (
    "Silent: nothing is returned, of questions whose matter never came up in the thread; all other "
    "shares leave these questions out. Calibration error and AUROC are about the relevances that "
    "a system gives: whether they are as high as the share of questions with all evidence in "
    "context, and how often a matter that came up has a higher one than a matter that did not. "
    "If exact: the calibration error to expect by chance if relevances were exactly right."
)
ORIENTATION = "The paper's records, noise and models are not ours: its figures are for orientation."


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A system on the page.

    Attributes:
        figures: Its figures.
        groups: All evidence in context, by group of questions.
        against: The difference to the first system; None for that one.
    """

    figures: Retrieval
    groups: Mapping[str, Share]
    against: Compared | None


def retrieval_page(
    rows: Mapping[str, Sequence[Row]], packages: Sequence[Package], command: str
) -> Page:
    """Lays out what systems retrieved.

    Args:
        rows: The rows of each system; the first is the one that others are compared with.
        packages: What was asked.
        command: How a user gets the same page.
    """
    settings = packages[0].settings
    dataset = settings.get("dataset", "scaleqa")
    track = track_of(settings)
    title = TITLES.get(dataset, dataset)
    first, *_ = rows.values()
    every = [row for own in rows.values() for row in own]
    return generated(
        f"{title}: {track}" if track and track != AS_WRITTEN else title,
        command,
        facts=(*_facts(packages, first[0]), *provenance_of(every).facts),
        blocks=retrieval_blocks(rows, settings),
    )


def retrieval_blocks(rows: Mapping[str, Sequence[Row]], settings: Mapping[str, Any]) -> list[Block]:
    """Lays out the tables about what systems retrieved, with what to know when reading them.

    Args:
        rows: The rows of each system; the first is the one that others are compared with.
        settings: The settings of the packages.
    """
    dataset = settings.get("dataset", "scaleqa")
    # The paper has figures about questions as written only.
    target = settings.get("target") if track_of(settings) == AS_WRITTEN else None
    first, *_ = rows.values()
    lines = [
        Line(
            figures=retrieval(own),
            groups=in_context_by(own, lambda row: row.domain),
            against=None if own is first else against(own, first),
        )
        for own in rows.values()
    ]
    beside = paper.LONGMEMEVAL if dataset == "longmemeval" else None
    what = [WHAT, WHAT_ABSENT] if any(line.figures.silent for line in lines) else [WHAT]
    blocks: list[Block] = [Paragraph(text=" ".join(what)), main_table(lines, target)]
    if len(lines) > 1:
        blocks.append(_against(lines))
    if len(lines[0].groups) > 1:
        grouping = "domain" if dataset == "scaleqa" else "type of question"
        title = f"All evidence in context by {grouping} (number of questions)"
        groups = {line.figures.system: line.groups for line in lines}
        blocks.append(groups_table(groups, title))
    if any(line.figures.kept for line in lines):
        blocks.append(Table(title="What is kept", columns=KEPT, rows=_kept(lines)))
    if any(line.figures.views for line in lines):
        blocks.append(_views(lines, target))
    if beside:
        blocks += [Paragraph(text=f"Paper: {beside.source}."), _transferred(beside)]
    notes = [
        "Intervals of shares are Wilson's, 95 %; of differences, by paired bootstrap.",
        "Times are not shown: runs share the machine. `scaleqa reproduce cost` measures them.",
    ]
    if target == paper.TARGET or beside:
        notes.append(ORIENTATION)
    return [*blocks, Notes(items=tuple(notes))]


def generated(
    title: str, command: str, *, facts: Sequence[tuple[str, str]], blocks: Sequence[Block]
) -> Page:
    """A page that says how it was generated, and from what."""
    return Page(
        title=title,
        introduction=(
            Paragraph(text=f"This page is generated: `{command}`."),
            Facts(items=tuple(facts)),
        ),
        sections=(Section(blocks=tuple(blocks)),),
    )


def _facts(packages: Sequence[Package], row: Row) -> list[tuple[str, str]]:
    settings = packages[0].settings
    turns = sum(len(package.stream) for package in packages)
    asked = sum(len(package.questions) for package in packages)
    tokens = sum(package.stats["tokens"] for package in packages) / len(packages)
    built = ", ".join(
        f"{name.replace('_', ' ')} {settings[name]}"
        for name in (
            "regime",
            "form",
            "mix",
            "noise_seed",
            "mix_seed",
            "seed",
            "sequels",
            "absent_seed",
        )
        if name in settings
    )
    track = track_of(settings)
    facts = [
        *([("Track", track)] if track else []),
        ("Questions", f"{asked:,}"),
        (
            "Threads",
            f"{len(packages):,}, with {tokens:,.0f} tokens on average, {turns:,} turns in all",
        ),
        ("Built with", built),
        ("Embedder", f"{row.run.embedder}, in place of the paper's BGE-large"),
    ]
    if "left_out" in settings:
        facts.append(("Left out", _left_out(settings["left_out"])))
    if row.run.records_sha256:
        facts.append(("Data", f"sha256 {row.run.records_sha256}"))
    return facts


def _left_out(counts: Mapping[str, Any]) -> str:
    said = (
        f"{counts['abstentions']} questions that are not to be answered, {counts['unmarked']} "
        "without marked evidence"
    )
    lost = counts.get("evidence")
    return f"{said}; evidence that names no turn: {', '.join(lost)}" if lost else said


def main_table(lines: Sequence[Line], target: int | None = None) -> Table:
    """The main table, with the paper's figures where it has some for this length."""
    rows = tuple({**_shares(line.figures), **_paper(line.figures.system, target)} for line in lines)
    return Table(title="Retrieval", columns=MAIN, rows=rows).filled()


def _against(lines: Sequence[Line]) -> Table:
    """The difference of each system to the first."""
    rows = []
    for line in lines:
        row = _shares(line.figures)
        if line.against:
            row |= {
                "difference": line.against.difference.difference,
                "difference_interval": line.against.difference.interval,
                "p": line.against.mcnemar_p,
            }
        rows.append(row)
    first = lines[0].figures.system
    title = f"Difference to {first} on the same questions, all evidence in context"
    return Table(title=title, columns=AGAINST, rows=tuple(rows)).filled()


def _shares(one: Retrieval) -> dict[str, Any]:
    return {
        "system": one.system,
        "recall": one.recalled.value,
        "recall_interval": one.recalled.interval,
        "in_context": one.in_context.value,
        "in_context_interval": one.in_context.interval,
        "in_part": in_part(one),
        "together": one.together.value if one.together else None,
        "tokens": one.context_tokens,
        **absence(one),
    }


def in_part(one: Retrieval) -> float | None:
    """The share with some of every evidence turn, if it differs from that with all of it."""
    found = one.partly
    return found.value if found and found.value != one.in_context.value else None


def _paper(system: str, target: int | None) -> dict[str, Any]:
    return {
        "paper_large": paper.recall(system, paper.LARGE, target),
        "paper_small": paper.recall(system, paper.SMALL, target),
        "paper_together": paper.together(system, target),
    }


def groups_table(groups: Mapping[str, Mapping[str, Share]], title: str) -> Table:
    """Shares by group of questions, whose number is in the head.

    Args:
        groups: The shares of each system, by name of the group.
        title: What the shares are.
    """
    questions = {name: s.questions for own in groups.values() for name, s in own.items()}
    columns = (
        SYSTEM,
        *(
            Column(
                key=name,
                head=f"{name} ({questions[name]})",
                below=(Column(key=f"{name} interval", head="95 %", form=span),),
                heat=True,
            )
            for name in sorted(questions)
        ),
    )
    rows = []
    for system, own in groups.items():
        row: dict[str, Any] = {"system": system}
        for name, held in own.items():
            row |= {name: held.value, f"{name} interval": held.interval}
        rows.append(row)
    return Table(title=title, columns=columns, rows=tuple(rows))


def _kept(lines: Sequence[Line]) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"system": line.figures.system, **(asdict(line.figures.kept) if line.figures.kept else {})}
        for line in lines
    )


def _views(lines: Sequence[Line], target: int | None) -> Table:
    beside = target == paper.TARGET
    rows = []
    for line in lines:
        system = line.figures.system
        rows += [
            {
                "system": system,
                "view": view,
                "rate": held.value,
                "paper": paper.view(system, view) if beside else None,
            }
            for view, held in line.figures.views.items()
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
