"""Sections of the report about a whole setting: figures in, blocks out."""

from collections.abc import Sequence
from dataclasses import replace

from scaleqa import paper
from scaleqa.figures.comparison import Main, Paired
from scaleqa.figures.groups import Group
from scaleqa.figures.judging import span
from scaleqa.figures.paired import Compared
from scaleqa.pages.drawings import Bar, Stack, dots, stacked
from scaleqa.pages.forms import count, over_judges, percent, points, points_span, text
from scaleqa.pages.page import Drawing, Facts, Notes, Paragraph
from scaleqa.pages.table import Column, Row, Table
from scaleqa.report.columns import Blocks, Colours, printed_below, system_column
from scaleqa.report.provenance import provenance_of
from scaleqa.report.signs import Signs
from scaleqa.report.words import described, finding, hit_of

AUDIT = (
    ("hit_correct", "Hit-C", "#0072b2"),
    ("hit_wrong", "Hit-W", "#8fc1e3"),
    ("miss_correct", "Miss-C", "#e69f00"),
    ("miss_wrong", "Miss-W", "#f3d79b"),
    ("unanswered", "unanswered", "#9aa0a6"),
)
# Where the prompt offers it.
ABSTAINED = ("abstained", "abstained", "#cc79a7")
MEASURES = {"correct": "strict accuracy", "recalled": "recall@5"}


def headline(group: Group, main: Sequence[Main], pairs: Sequence[Paired]) -> Blocks:
    """Says what was run and what it shows."""
    signs = Signs(group.setting)
    rows = (row for own in group.rows.values() for row in own)
    return (
        Paragraph(text=finding(group, main, pairs) + signs.after, kind="finding"),
        Facts(items=(*described(group), *provenance_of(rows).facts)),
        Notes(items=tuple(f"{note.sign}: {note.long}" for note in signs.notes)),
    )


def differences(group: Group, pairs: Sequence[Paired], colours: Colours) -> Blocks:
    """Shows the paired differences of the first system."""
    if not pairs:
        return (Paragraph(text="There is no second system to compare with."),)
    signs, first = Signs(group.setting), pairs[0].first
    known = {one.measure for pair in pairs for one in pair.measures}
    names = {"hit": hit_of(group.setting), **MEASURES}
    measures = {measure: name for measure, name in names.items() if measure in known}
    shown = [
        Drawing(
            svg=dots(
                [_difference_bar(pair, measure, colours) for pair in pairs if _has(pair, measure)],
                title=f"{first} less each other system, {name}",
                description=f"Right of zero {first} is better. Whiskers: paired bootstrap, 95 %.",
                form=points,
            ),
            title=f"{first} less each other system, {name}",
            caption=f"{name}: {first} less the other, in points{signs.after}",
        )
        for measure, name in measures.items()
    ]
    rows = [
        _difference_row(pair, _measured(pair, measure), name)
        for pair in pairs
        for measure, name in measures.items()
        if _has(pair, measure)
    ]
    sensitivity = Column(
        key="judges", head="judge sensitivity, points", form=over_judges(points_span)
    )
    judges = (sensitivity,) if "correct" in known else ()
    columns = (
        system_column(colours, "other system"),
        Column(key="measure", head="measure", form=text),
        Column(key="questions", head="questions", form=count),
        *(
            replace(column, signs=signs.both)
            for column in (
                Column(key="first", head=first, form=percent),
                Column(key="second", head="other", form=percent),
                Column(key="difference", head="difference, points", form=points),
                Column(key="interval", head="95 % interval", form=points_span, joined=True),
                Column(key="p", head="McNemar p", form=_p),
                *judges,
            )
        ),
    )
    title = f"{first} against each other system on the questions both were asked"
    note = (
        "Intervals: paired bootstrap over questions, 10,000 samples. McNemar: exact, two-sided. No "
        "correction for the number of comparisons"
    )
    return (*shown, Table(title=title, columns=columns, rows=tuple(rows)), *signs.below(note))


def audit(group: Group, main: Sequence[Main], colours: Colours) -> Blocks:
    """Shows hit by correctness; nothing where no model answered."""
    if not group.setting.answers:
        return ()
    signs = Signs(group.setting)
    shares = {
        line.system: {
            **answers.audit,
            "unanswered": answers.unanswered,
            "abstained": declined.abstained.value if (declined := line.scores.abstaining) else 0.0,
        }
        for line in main
        if (answers := line.scores.answers)
    }
    kinds = (*AUDIT, ABSTAINED) if any(line.scores.abstaining for line in main) else AUDIT
    block = paper.block_of(group.setting.backend or "")
    at_length = group.setting.target == paper.TARGET and group.setting.printed
    theirs = paper.AUDIT.lines[block] if at_length else {}
    rows = []
    for name, parts in shares.items():
        printed = zip((key for key, _, _ in AUDIT), theirs.get(name, ()), strict=False)
        rows.append({"system": name, **parts, **{f"paper_{key}": value for key, value in printed}})
    columns = (
        system_column(colours),
        *(
            Column(key=key, head=name, form=percent, signs=signs.both,
                   below=(printed_below(key, lambda value: f"{100 * value:.1f}"),))
            for key, name, _ in kinds
        ),
    )  # fmt: skip
    title = "Hit by correctness"
    drawn = stacked(
        [Stack(label=s, parts=tuple(v[key] for key, _, _ in kinds)) for s, v in shares.items()],
        [(name, colour) for _, name, colour in kinds],
        title=title,
        description="Share of questions, in per cent; C for correct, W for wrong.",
    )
    note = [f"Paper: {paper.AUDIT.source}, {block}"] if any(n in theirs for n in shares) else []
    return (
        Drawing(svg=drawn, title=title, caption=f"Share of questions, per cent{signs.after}"),
        Table(
            title="Hit by correctness, of all questions; only answered ones are right or wrong",
            columns=columns,
            rows=tuple(rows),
        ),
        *signs.below(*note),
    )


def _has(pair: Paired, measure: str) -> bool:
    """Whether a measure is known of both systems; that of evidence is where both show turns."""
    return any(one.measure == measure for one in pair.measures)


def _measured(pair: Paired, measure: str) -> Compared:
    return next(one for one in pair.measures if one.measure == measure)


def _difference_bar(pair: Paired, measure: str, colours: Colours) -> Bar:
    one = _measured(pair, measure)
    low, high = one.difference.interval
    return Bar(label=pair.second, value=one.difference.difference, low=low, high=high,
               colour=colours[pair.second])  # fmt: skip


def _difference_row(pair: Paired, one: Compared, name: str) -> Row:
    return {
        "system": pair.second,
        "measure": name,
        "questions": pair.questions,
        "first": one.first,
        "second": one.second,
        "difference": one.difference.difference,
        "interval": one.difference.interval,
        "p": one.mcnemar_p,
        "judges": None if one.judges is None else span(one.judges),
    }


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"
