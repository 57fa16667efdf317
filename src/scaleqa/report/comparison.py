"""The main comparison of the report: scores and contexts of all systems, the paper's below."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scaleqa import paper
from scaleqa.figures.comparison import Main
from scaleqa.figures.groups import Group
from scaleqa.figures.judging import span
from scaleqa.pages.drawings import Bar, bars
from scaleqa.pages.forms import (
    count,
    fine,
    over_judges,
    percent,
    percent_span,
    share,
    tenths,
)
from scaleqa.pages.page import Drawing, Paragraph
from scaleqa.pages.table import Column, Row, Table
from scaleqa.report.columns import Blocks, Colours, printed_below, system_column
from scaleqa.report.signs import Signs
from scaleqa.report.words import hit_of, rewritten, uneven

WHAT_HIT = {
    "CL hit": "CL hit: all evidence is in the context, along the closed loop.",
    "In context": "In context: all evidence is in the context.",
}
WHAT_ACCURACY = (
    "Accuracy credits an unanswered question with a quarter, as the paper does; strict accuracy "
    "does not. Judge sensitivity: lowest and highest strict accuracy over all judges who graded "
    "all these answers. Rationale similarity: cosine of the given rationale and the gold reasoning."
)
WHAT_SILENT = (
    "Silent on absent: nothing was retrieved, of questions whose matter never came up in the "
    "thread; all other figures leave these questions out."
)
Theirs = dict[str, paper.Scores | None]


def comparison(group: Group, main: Sequence[Main], colours: Colours) -> Blocks:
    """Shows the main comparison."""
    setting, signs = group.setting, Signs(group.setting)
    answered, hit = setting.answers, hit_of(setting)
    theirs: Theirs = {
        line.system: paper.scores(line.system, setting.backend, setting.target)
        for line in main
        if setting.backend and setting.printed
    }
    words = [WHAT_ACCURACY] if answered else []
    quiet = any(line.scores.silent for line in main)
    return (
        Paragraph(text=" ".join([*words, WHAT_HIT[hit], *([WHAT_SILENT] if quiet else [])])),
        *(Paragraph(text=said) for said in (uneven(group), rewritten(group)) if said),
        *_score_drawings(group, main, theirs, colours),
        Table(
            title="Scores",
            columns=_score_columns(colours, signs.both, hit, answered=answered, quiet=quiet),
            rows=tuple(_score_row(line, theirs.get(line.system)) for line in main),
        ),
        Table(
            title="Contexts and spread" if answered else "Contexts",
            columns=_spread_columns(colours, signs.both, answered=answered),
            rows=tuple(_spread_row(line, theirs.get(line.system)) for line in main),
        ),
        *signs.below(_paper_note(group, theirs)),
    )


def _score_drawings(
    group: Group, main: Sequence[Main], theirs: Theirs, colours: Colours
) -> list[Drawing]:
    block = paper.block_of(group.setting.backend or "")
    mark = f"paper, {block}" if any(theirs.values()) else ""
    hits, strict = [], []
    for line in main:
        scores, printed = line.scores, theirs.get(line.system)
        bar = Bar(label=line.system, value=scores.hit, low=scores.hit_interval.low,
                  high=scores.hit_interval.high, colour=colours[line.system])  # fmt: skip
        if scores.judged:
            hits.append(replace(bar, mark=printed.hit if printed else None))
        # The paper prints the credited accuracy only, which is another measure.
        if answers := scores.answers:
            low, high = answers.strict_interval
            strict.append(replace(bar, value=answers.strict_accuracy, low=low, high=high))
    shown = [(hit_of(group.setting), hits)]
    if strict:
        shown.append(("Strict accuracy", strict))
    after = Signs(group.setting).after
    return [
        Drawing(
            svg=bars(
                items,
                title=f"{name} by system",
                description=", ".join(f"{item.label} {percent(item.value)}" for item in items),
                mark_name=mark,
            ),
            title=f"{name} by system",
            caption=f"{name} with Wilson's 95 % interval{after}",
        )
        for name, items in shown
    ]


def _score_columns(
    colours: Colours, signs: str, name: str, *, answered: bool, quiet: bool
) -> tuple[Column, ...]:
    spoke = Column(key="silent_interval", head="95 %", form=percent_span)
    silent = Column(key="silent", head="silent on absent", form=percent, signs=signs,
                    below=(spoke,))  # fmt: skip
    strict = Column(key="strict_interval", head="95 %", form=percent_span)
    hit = Column(key="hit_interval", head="95 %", form=percent_span)
    answers = (
        Column(key="accuracy", head="accuracy", form=percent, signs=signs,
               below=(printed_below("accuracy", percent),)),
        Column(key="strict", head="strict accuracy", form=percent, signs=signs, below=(strict,)),
        Column(key="judges", head="judge sensitivity", form=over_judges(percent_span), signs=signs),
        Column(key="unanswered", head="unanswered", form=percent, signs=signs),
    )  # fmt: skip
    rationale = Column(key="rationale", head="rationale similarity", signs=signs,
                       below=(printed_below("rationale", share),))  # fmt: skip
    return (
        system_column(colours),
        Column(key="questions", head="questions", form=count),
        *(answers if answered else ()),
        Column(key="hit", head=name, form=percent, signs=signs,
               below=(hit, printed_below("hit", percent))),
        *((silent,) if quiet else ()),
        *((rationale,) if answered else ()),
    )  # fmt: skip


def _score_row(line: Main, theirs: paper.Scores | None) -> Row:
    scores = line.scores
    row: dict[str, Any] = {
        "system": line.system,
        "questions": scores.questions,
        "hit": scores.hit if scores.judged else None,
        "hit_interval": scores.hit_interval if scores.judged else None,
    }
    if scores.silent:
        row |= {"silent": scores.silent.value, "silent_interval": scores.silent.interval}
    if answers := scores.answers:
        row |= {
            "accuracy": answers.accuracy,
            "strict": answers.strict_accuracy,
            "strict_interval": answers.strict_interval,
            "judges": span(answers.judges),
            "unanswered": answers.unanswered,
            "rationale": answers.rationale_similarity,
        }
    if theirs:
        row |= {
            "paper_accuracy": theirs.accuracy,
            "paper_hit": theirs.hit,
            "paper_rationale": theirs.rationale,
        }
    return row


def _spread_columns(colours: Colours, signs: str, *, answered: bool) -> tuple[Column, ...]:
    tokens = printed_below("tokens", lambda value: f"{value:,}")
    of_accuracy = (
        Column(key="std", head="domain std, points", form=fine, signs=signs),
        Column(key="range", head="batch range", form=_range, signs=signs),
    )
    return (
        system_column(colours),
        Column(key="mean", head="context tokens, mean", form=tenths, signs=signs, below=(tokens,)),
        Column(key="median", head="median", form=count, signs=signs),
        Column(key="p95", head="p95", form=count, signs=signs),
        Column(key="most", head="max", form=count, signs=signs),
        *(of_accuracy if answered else ()),
    )


def _spread_row(line: Main, theirs: paper.Scores | None) -> Row:
    return {
        "system": line.system,
        "mean": line.context.mean,
        "paper_tokens": theirs.tokens if theirs else None,
        "median": line.context.median,
        "p95": line.context.p95,
        "most": line.context.most,
        "std": None if line.domain_std is None else 100 * line.domain_std,
        "range": line.batch_range or (),
    }


def _paper_note(group: Group, theirs: Theirs) -> str:
    if group.setting.backend is None:
        return "The paper's main table is about the closed loop"
    block = paper.block_of(group.setting.backend)
    names = []
    if any(printed and system != "full_context" for system, printed in theirs.items()):
        names.append(f"{paper.MAIN.source}, {block}")
    if theirs.get("full_context"):
        names.append(paper.FULL_CONTEXT.source)
    if not names:
        return (
            "The paper's main table is about threads of 128k; it printed nothing comparable for "
            f"these systems at this length ({group.setting.length})"
        )
    return (
        f"Paper: {'; '.join(names)}. Its records, noise and models are not ours: its figures are "
        "for orientation"
    )


def _range(value: Sequence[float]) -> str:
    return " to ".join(map(percent, value)) if value else "one package"
