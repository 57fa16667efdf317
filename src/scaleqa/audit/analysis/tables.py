"""Tables of figures that the paper prints too, ours and the paper's."""

from collections.abc import Sequence
from typing import Any

from scaleqa.audit import paper
from scaleqa.audit.analysis.answers import Case
from scaleqa.audit.analysis.findings import Findings
from scaleqa.audit.analysis.words import CUE_NAMES, QUESTION_NAMES, SCALE_NAMES
from scaleqa.audit.items import CUES, SCALES
from scaleqa.pages.forms import count, fine, percent, share, text
from scaleqa.pages.page import Block, Notes
from scaleqa.pages.table import Column, Row, Table, interval
from scaleqa.stats import wilson
from scaleqa.stats.agreement import Estimate

NAME = Column(key="name", head="", form=text)
SCALE_COLUMNS = tuple(Column(key=one, head=SCALE_NAMES[one], form=fine) for one in SCALES)


def fine_span(value: Sequence[float]) -> str:
    """Writes an interval to two places."""
    return f"{value[0]:.2f} to {value[1]:.2f}"


def realism(found: Findings) -> tuple[Block, ...]:
    """All scales over our items."""
    rows: list[Row] = []
    for one in found.overall:
        printed = paper.OVERALL.lines[one.scale]
        rows.append(
            {
                "name": SCALE_NAMES[one.scale],
                "items": one.items,
                "mean": one.mean,
                "interval": one.interval,
                "median": one.median,
                "std": one.std,
                "paper_mean": printed.mean,
                "paper_median": printed.median,
                "paper_std": printed.std,
                "better": "lower" if one.scale == "ambiguity" else "higher",
            }
        )
    columns = (
        NAME,
        Column(key="items", head="items", form=count),
        Column(key="mean", head="mean", form=fine),
        interval("interval", form=fine_span),
        Column(key="median", head="median", form=fine),
        Column(key="std", head="std", form=fine),
        Column(key="paper_mean", head="paper: mean", form=fine),
        Column(key="paper_median", head="paper: median", form=fine),
        Column(key="paper_std", head="paper: std", form=fine),
        Column(key="better", head="better", form=text),
    )
    title = f"Means over items, beside the paper’s ({paper.OVERALL.source})"
    return (Table(title=title, columns=columns, rows=tuple(rows)),)


def answers(found: Findings) -> tuple[Block, ...]:
    """Majorities, and the items in which they are not for the answer."""
    ours = found.majority
    right, valid, none = paper.MAJORITY.lines["majority"]
    rows = (
        {
            **_majority("ours", ours.items, ours.valid, ours.right, len(ours.none)),
            "single": ours.single,
        },
        _majority("paper", paper.ITEMS, valid, right, none),
    )
    columns = (
        NAME,
        Column(key="items", head="items", form=count),
        Column(key="valid", head="with a majority", form=count),
        Column(key="right", head="majority is the answer", form=count),
        Column(key="share", head="share", form=percent),
        interval("interval", head="Wilson 95 %"),
        Column(key="none", head="no majority", form=count),
        Column(key="wrong", head="majority for another", form=count),
        Column(key="single", head="one rating only", form=count),
    )
    blocks: list[Block] = [
        Table(
            title=f"Majority answers, beside the paper’s ({paper.MAJORITY.source})",
            columns=columns,
            rows=rows,
        )
    ]
    for title, cases in (("No majority", ours.none), ("Majority for another", ours.wrong)):
        if cases:
            blocks.append(_cases(title, cases))
    return tuple(blocks)


def _majority(name: str, items: int, valid: int, right: int, none: int) -> Row:
    return {
        "name": name,
        "items": items,
        "valid": valid,
        "right": right,
        "share": right / valid if valid else None,
        "interval": wilson(right, valid) if valid else None,
        "none": none,
        "wrong": valid - right,
    }


def _cases(title: str, cases: Sequence[Case]) -> Table:
    columns = (
        Column(key="item", head="item", form=text),
        Column(key="topic", head="topic", form=text),
        Column(key="answer", head="answer", form=text),
        Column(key="chosen", head="chosen", form=text),
        Column(key="stress", head="labels", form=text),
    )
    rows = [
        {
            "item": case.item.origin.ref,
            "topic": case.item.origin.domain,
            "answer": case.item.answer,
            "chosen": ", ".join(f"{rater}: {letter}" for rater, letter in case.chosen.items()),
            "stress": ", ".join(CUE_NAMES.get(one, one) for one in case.item.origin.stress),
        }
        for case in cases
    ]
    return Table(title=title, columns=columns, rows=tuple(rows))


def raters(found: Findings) -> Table:
    """Each rater."""
    rows: list[Row] = [
        {
            "name": f"rater {one.rater}",
            "items": one.answered,
            "accuracy": one.right / one.answered if one.answered else None,
            "largest": one.largest,
            **one.means,
        }
        for one in found.raters
    ]
    for name, printed in paper.ANNOTATORS.lines.items():
        rows.append(
            {
                "name": f"paper: {name}",
                "items": paper.ITEMS,
                "accuracy": printed.accuracy,
                "largest": printed.largest,
                **_by_scale(printed.means),
            }
        )
    columns = (
        NAME,
        Column(key="items", head="items", form=count),
        Column(key="accuracy", head="as the data set", form=percent),
        Column(key="largest", head="largest option", form=percent),
        *SCALE_COLUMNS,
    )
    title = f"Each rater, beside the paper’s ({paper.ANNOTATORS.source})"
    return Table(title=title, columns=columns, rows=tuple(rows))


def pairs(found: Findings) -> Table:
    """Each pair of raters."""
    rows: list[Row] = []
    for one in found.pairs:
        row: dict[str, Any] = {
            "name": f"{one.raters[0]}–{one.raters[1]}",
            "items": one.items,
            "answers": one.answers.value,
            "kappa": one.kappa.value,
            "kappa_interval": one.kappa.interval,
            "primary": one.primary.value,
            **{cue: one.cues[cue].value for cue in CUES},
            "agreed": f"{one.agreed[0]}/{one.agreed[1]}",
        }
        rows.append(row)
    for name, printed in paper.PAIRS.lines.items():
        rows.append(
            {
                "name": f"paper: {name}",
                "items": paper.ITEMS,
                "answers": printed.answers,
                "kappa": printed.kappa,
                "primary": printed.primary,
                **dict(zip(CUES, printed.cues, strict=True)),
                "agreed": f"{printed.agreed[0]}/{printed.agreed[1]}",
            }
        )
    columns = (
        NAME,
        Column(key="items", head="items", form=count),
        Column(key="answers", head="same answer", form=percent),
        Column(key="kappa", head="Cohen’s κ", form=share),
        interval("kappa_interval"),
        Column(key="primary", head="same primary cue", form=percent),
        *(Column(key=cue, head=CUE_NAMES[cue], form=percent) for cue in CUES),
        Column(key="agreed", head="right of agreed", form=text),
    )
    title = f"Pairs of raters, beside the paper’s ({paper.PAIRS.source})"
    return Table(title=title, columns=columns, rows=tuple(rows))


def agreement(found: Findings) -> tuple[Block, ...]:
    """Every question by every measure."""
    rows: list[Row] = []
    for one in found.agreements:
        row: dict[str, Any] = {
            "name": QUESTION_NAMES[one.question],
            "items": one.items,
            "cohen": one.cohen,
        }
        for key in ("percent", "kappa", "nominal", "ordinal", "interval"):
            value: Estimate | None = getattr(one, key)
            row |= {key: value.value, f"{key}_range": value.interval} if value else {}
        rows.append(row)
    columns = [NAME, Column(key="items", head="items", form=count)]
    for key, head in (
        ("percent", "equal"),
        ("kappa", "Fleiss’ κ"),
        ("nominal", "α nominal"),
        ("ordinal", "α ordinal"),
        ("interval", "α interval"),
    ):
        columns += [Column(key=key, head=head), interval(f"{key}_range")]
    columns.append(Column(key="cohen", head="mean Cohen’s κ"))
    printed = paper.KAPPA.lines["answer"]
    note = (
        f"The paper’s mean of pairwise Cohen’s κ of answers is {printed:.3f} "
        f"({paper.KAPPA.source}). A dash stands where a measure is not defined, because all "
        "ratings are equal or nobody rated the same items."
    )
    table = Table(title="Agreement of all raters", columns=tuple(columns), rows=tuple(rows))
    return table, Notes(items=(note,))


def cues(found: Findings) -> tuple[Block, ...]:
    """Stress cues."""
    ours = found.cues
    sums = {"several": ("at least two cues", ours.several), "all": ("all three cues", ours.all)}
    rows = [
        *(_cue("cue", CUE_NAMES[c], ours.cues[c], ours, paper.CUES.lines[c]) for c in CUES),
        *(_cue("cue", name, n, ours, paper.CUES.lines[key]) for key, (name, n) in sums.items()),
        *(
            _cue("primary cue", CUE_NAMES[name], n, ours, paper.PRIMARY.lines.get(name))
            for name, n in ours.primary.items()
        ),
    ]
    for row, cue in zip(rows, CUES, strict=False):
        row["anybody"] = ours.anybody[cue]
    columns = (
        Column(key="view", head="", form=text),
        Column(key="name", head="label", form=text),
        Column(key="items", head="items", form=count),
        Column(key="share", head="share", form=percent),
        Column(key="anybody", head="seen by anybody", form=count),
        Column(key="paper", head="paper: items", form=count),
        Column(key="paper_share", head="paper: share", form=percent),
    )
    notes = [
        "An item has a cue, or a primary cue, if at least two raters rated it and more than half "
        "of them say so; the paper does not say how it combines raters."
    ]
    if ours.single:
        notes.append(f"Items with one rating only, which are not counted here: {ours.single}.")
    if ours.labelled:
        notes.append(
            f"Of {ours.labelled} items with a settled primary cue, {ours.as_labelled} have the one "
            "that the data set names."
        )
    title = f"Stress cues, beside the paper’s ({paper.CUES.source})"
    return Table(title=title, columns=columns, rows=tuple(rows)), Notes(items=tuple(notes))


def _cue(view: str, name: str, items: int, of: Any, printed: int | None) -> dict[str, Any]:
    return {
        "view": view,
        "name": name,
        "items": items,
        "share": items / of.items if of.items else None,
        "paper": printed,
        "paper_share": printed / paper.ITEMS if printed is not None else None,
    }


def topics(found: Findings) -> Table:
    """All scales by domain."""
    rows: list[Row] = []
    for topic, scales in found.topics.items():
        row: dict[str, Any] = {"name": topic, "items": max(one.items for one in scales.values())}
        for place, scale in enumerate(SCALES):
            row[scale] = scales[scale].mean
            printed = paper.TOPICS.lines.get(topic)
            row[f"paper_{scale}"] = printed[place] if printed else None
        rows.append(row)
    columns = [NAME, Column(key="items", head="items", form=count)]
    for one in SCALE_COLUMNS:
        columns += [one, Column(key=f"paper_{one.key}", head="paper", form=fine, joined=True)]
    title = f"Topics, beside the paper’s ({paper.TOPICS.source})"
    return Table(title=title, columns=tuple(columns), rows=tuple(rows))


def _by_scale(values: Sequence[float]) -> dict[str, float]:
    return {str(scale): value for scale, value in zip(SCALES, values, strict=True)}
