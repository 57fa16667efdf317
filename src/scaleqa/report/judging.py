"""What several judges say of the same answers, and what readers said never came up."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scaleqa.figures.comparison import Main
from scaleqa.figures.groups import Group
from scaleqa.figures.judging import Agreement, agreements, by_judge, span
from scaleqa.figures.scores import Scores
from scaleqa.pages.forms import count, over_judges, text
from scaleqa.pages.forms import share as plain
from scaleqa.pages.forms import span as plain_span
from scaleqa.pages.page import Notes, Paragraph
from scaleqa.pages.table import Column, Table, interval
from scaleqa.report.columns import Blocks, Colours, judge_names, system_column
from scaleqa.report.summaries import SYSTEM, abstaining_table

WHAT = (
    "The same answers graded by several judges: the share that each finds right. Differences in a "
    "row are differences of judges, not of systems."
)
WHAT_AGREEMENT = (
    "Agreement of two judges, over all answers that both graded: the share on which they agree, "
    "and Cohen's kappa, which is agreement beyond chance; intervals by bootstrap over answers."
)
WHAT_ABSTAINING = (
    "The prompt offers to say that a matter never came up. Precision: absent matters, of all "
    "abstentions. Recall: abstentions, of all absent matters."
)


def judged(group: Group, main: Sequence[Main], colours: Colours) -> Blocks:
    """Shows accuracy by judge, agreement, and abstentions; nothing where there is one judge."""
    if not group.setting.answers:
        return ()
    results = {line.system: line.scores for line in main}
    found: Blocks = ()
    if any(len(one.judges) > 1 for scores in results.values() if (one := scores.answers)):
        found += (
            Paragraph(text=WHAT),
            judges_table(results, system_column(colours)),
            Paragraph(text=WHAT_AGREEMENT),
            agreement_table(group_agreements(group)),
            Notes(items=(_identities(results.values()),)),
        )
    if any(scores.abstaining for scores in results.values()):
        found += (Paragraph(text=WHAT_ABSTAINING), abstaining_table(results))
    return found


def _identities(results: Iterable[Scores]) -> str:
    """Names all judges in full, since tables do not."""
    full = (name for one in results if one.answers for name in one.answers.judges)
    return f"Judges: {'; '.join(dict.fromkeys(full))}."


def group_agreements(group: Group) -> list[Agreement]:
    """Compares the judges of the rows of a setting."""
    return agreements(by_judge([row for rows in group.rows.values() for row in rows]))


def judges_table(results: Mapping[str, Scores], first: Column = SYSTEM) -> Table:
    """Accuracy by system and judge, and its range."""
    known = {name: scores.answers.judges for name, scores in results.items() if scores.answers}
    names = judge_names(judge for one in known.values() for judge in one)
    rows: Iterable[dict[str, Any]] = (
        {"system": name, **judges, "judges": span(judges)} for name, judges in known.items()
    )
    return Table(
        title="Strict accuracy by judge",
        columns=(
            first,
            *(Column(key=judge, head=name) for judge, name in names.items()),
            Column(key="judges", head="judge sensitivity", form=over_judges(plain_span)),
        ),
        rows=tuple(rows),
    )


def agreement_table(found: Sequence[Agreement]) -> Table:
    """Agreement of every two judges."""
    names = judge_names(name for one in found for name in (one.first, one.second))
    rows = [
        {
            "first": names[one.first],
            "second": names[one.second],
            "answers": one.answers,
            "raw": one.raw.value,
            "raw_interval": one.raw.interval,
            "kappa": one.kappa.value,
            "kappa_interval": one.kappa.interval,
            "both": one.both,
            "only_first": one.only_first,
            "only_second": one.only_second,
            "neither": one.neither,
        }
        for one in found
    ]
    columns = (
        Column(key="first", head="judge", form=text),
        Column(key="second", head="other judge", form=text),
        Column(key="answers", head="answers", form=count),
        Column(key="raw", head="agree", form=plain),
        interval("raw_interval"),
        Column(key="kappa", head="kappa", form=plain),
        interval("kappa_interval"),
        Column(key="both", head="both right", form=count),
        Column(key="only_first", head="only first", form=count),
        Column(key="only_second", head="only second", form=count),
        Column(key="neither", head="neither", form=count),
    )
    return Table(title="Agreement of judges", columns=columns, rows=tuple(rows))
