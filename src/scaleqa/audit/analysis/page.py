"""The page about an audit: our figures, and the paper's where it prints the same."""

from scaleqa.audit.analysis.findings import Findings
from scaleqa.audit.analysis.tables import (
    NAME,
    SCALE_COLUMNS,
    agreement,
    answers,
    cues,
    fine_span,
    pairs,
    raters,
    realism,
    topics,
)
from scaleqa.audit.analysis.words import FORM_NAMES
from scaleqa.audit.items import SCALES
from scaleqa.pages.forms import count, fine, percent, text
from scaleqa.pages.page import Block, Facts, Notes, Page, Paragraph, Section
from scaleqa.pages.table import Column, Row, Table, interval


def audit_page(found: Findings, *, items: bool = False) -> Page:
    """Lays out the figures of an audit.

    Args:
        found: The figures.
        items: Whether to list every item.
    """
    sections = [
        Section(name="realism", title="Realism", blocks=realism(found)),
        Section(name="answers", title="Answers", blocks=answers(found)),
        Section(name="raters", title="Raters", blocks=(raters(found), pairs(found))),
        Section(name="agreement", title="Agreement", blocks=agreement(found)),
        Section(name="cues", title="Stress cues", blocks=cues(found)),
        Section(name="topics", title="Topics", blocks=(topics(found),)),
        Section(name="sources", title="Sources", blocks=_sources(found)),
        Section(name="quality", title="How raters worked", blocks=_quality(found)),
    ]
    if items:
        sections.append(Section(name="items", title="Items", blocks=(_items(found),)))
    return Page(title="Human audit", introduction=_introduction(found), sections=tuple(sections))


def _introduction(found: Findings) -> tuple[Block, ...]:
    plan, sheet = found.plan, found.sheet
    assigned = sum(plan.by_id[name].purpose == "audit" for order in plan.orders for name in order)
    facts = [
        ("Raters", f"{len(sheet.raters)} of {len(plan.orders)}"),
        ("Audited items rated", f"{len(sheet.items)}"),
        ("Ratings", f"{len(sheet.cells)} of {assigned}"),
        ("Raters per item", f"{plan.per_item}"),
        ("Seed of the plan", f"{plan.seed}"),
    ]
    if found.left_out:
        facts.append(("Left out on request", ", ".join(f"rater {n}" for n in found.left_out)))
    blocks: list[Block] = [Facts(items=tuple(facts))]
    if len(sheet.cells) < assigned and not found.left_out:
        blocks.append(
            Paragraph(text="**The audit is not finished:** some items are not rated yet.")
        )
    blocks.append(
        Notes(
            items=(
                "Figures beside the paper's are about our items with question and options. The "
                "paper's are about 300 examples of its own data set and three raters of the "
                "authors' group.",
                "Intervals are 95 % percentile bootstrap intervals over items; they say nothing "
                "about other raters.",
            )
        )
    )
    return tuple(blocks)


def _sources(found: Findings) -> tuple[Block, ...]:
    rows: list[Row] = []
    for group, scales in found.groups.items():
        form, _, source = group.partition(" ")
        natural = scales["naturalness"]
        rows.append(
            {
                "name": source,
                "form": FORM_NAMES[form],
                "items": natural.items,
                **{scale: scales[scale].mean for scale in SCALES},
                "interval": natural.interval,
            }
        )
    columns = (
        NAME,
        Column(key="form", head="shown", form=text),
        Column(key="items", head="items", form=count),
        SCALE_COLUMNS[0],
        interval("interval", form=fine_span),
        *SCALE_COLUMNS[1:],
    )
    blocks: list[Block] = [
        Table(title="Means by source and form", columns=columns, rows=tuple(rows))
    ]
    if found.beside:
        blocks.append(_beside(found))
    return tuple(blocks)


def _beside(found: Findings) -> Table:
    rows = [
        {
            "name": one.source,
            "form": FORM_NAMES[one.form],
            "ours": one.ours,
            "theirs": one.theirs,
            "difference": one.difference.value,
            "interval": one.difference.interval,
            "items": f"{one.items[0]}, {one.items[1]}",
        }
        for one in found.beside
    ]
    columns = (
        NAME,
        Column(key="form", head="shown", form=text),
        Column(key="ours", head="ours", form=fine),
        Column(key="theirs", head="theirs", form=fine),
        Column(key="difference", head="difference", form=lambda value: f"{value:+.2f}"),
        interval("interval", form=fine_span),
        Column(key="items", head="items, ours and theirs", form=text),
    )
    title = "Naturalness of ours beside other sources, shown in the same form"
    return Table(title=title, columns=columns, rows=tuple(rows))


def _quality(found: Findings) -> tuple[Block, ...]:
    rows = [
        {
            "name": f"rater {one.rater}",
            "rated": f"{one.rated}/{one.assigned}",
            "gold": f"{one.gold[0]}/{one.gold[1]}",
            "attention": f"{one.attention[0]}/{one.attention[1]}",
            "seconds": one.seconds,
            "hurried": one.hurried,
            "same": one.same,
            "run": one.run,
        }
        for one in found.quality
    ]
    columns = (
        NAME,
        Column(key="rated", head="rated", form=text),
        Column(key="gold", head="gold items right", form=text),
        Column(key="attention", head="attention items followed", form=text),
        Column(key="seconds", head="median seconds", form=count),
        Column(key="hurried", head="faster than reading", form=count),
        Column(key="same", head="same points", form=percent),
        Column(key="run", head="in a row", form=count),
    )
    remarks = [
        f"Rater {one.rater}: {'; '.join(one.remarks)}." for one in found.quality if one.remarks
    ]
    blocks: list[Block] = [
        Table(title="Gold items, attention, time, patterns", columns=columns, rows=tuple(rows))
    ]
    blocks.append(Notes(items=(*(remarks or ["Nothing to remark."]), "Nobody is left out for it.")))
    return tuple(blocks)


def _items(found: Findings) -> Table:
    rows: list[Row] = []
    for item in found.sheet.items:
        said = found.sheet.about(item)
        means: dict[str, float | None] = {}
        for scale in SCALES:
            given = [o.values.scales[scale] for o in said if scale in o.values.scales]
            means[scale] = sum(given) / len(given) if given else None
        rows.append(
            {
                "name": item.origin.ref,
                "source": item.origin.source,
                "form": FORM_NAMES[item.form],
                "raters": len(said),
                **means,
                "answer": item.answer,
                "chosen": "".join(o.values.answer or "" for o in said) or None,
            }
        )
    rows.sort(key=lambda row: (str(row["source"]), str(row["form"]), str(row["name"])))
    columns = (
        NAME,
        Column(key="source", head="source", form=text),
        Column(key="form", head="shown", form=text),
        Column(key="raters", head="raters", form=count),
        *SCALE_COLUMNS,
        Column(key="answer", head="answer", form=text),
        Column(key="chosen", head="chosen", form=text),
    )
    return Table(title="Every item", columns=columns, rows=tuple(rows))
