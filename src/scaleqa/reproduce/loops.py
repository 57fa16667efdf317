"""Tables of the closed loop: retrieve, answer, write back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scaleqa import paper
from scaleqa.evaluate import Row
from scaleqa.figures.judging import span
from scaleqa.figures.scores import score
from scaleqa.pages.drawings import Bar, bars
from scaleqa.pages.forms import count, text
from scaleqa.pages.page import Page
from scaleqa.pages.table import Column, Table, interval
from scaleqa.report.palette import base_colour
from scaleqa.report.summaries import SENSITIVITY
from scaleqa.reproduce.lab import Lab
from scaleqa.reproduce.readings import readings
from scaleqa.reproduce.reproduction import (
    INTERVAL,
    SYSTEM,
    Reproduction,
    answered,
    combinations,
    described,
    label_of,
    lengths,
    notes,
    page,
    place_of,
)
from scaleqa.specs import Spec

WHAT_ACCURACY = (
    "Accuracy credits an unanswered question with a quarter, as the paper does; strict accuracy "
    "does not. Judge sensitivity: lowest and highest strict accuracy over all judges who graded "
    "all these answers."
)
WHAT_HIT = "CL hit: all evidence is in the context, along the closed loop with write-back."
ACCURACY = (
    Column(key="accuracy", head="accuracy"),
    interval("accuracy_interval"),
    Column(key="strict", head="strict"),
    interval("strict_interval"),
    SENSITIVITY,
    Column(key="unanswered", head="unanswered"),
)
HIT = (Column(key="hit", head="CL hit"), interval("hit_interval"))
RATIONALE = Column(key="rationale", head="rationale")
TOKENS = Column(key="tokens", head="tokens", form=count)
# What the paper prints, about answers and about evidence.
PAPER_ACCURACY = Column(key="paper_accuracy", head="paper accuracy")
PAPER_HIT = Column(key="paper_hit", head="paper CL hit")
PAPER_RATIONALE = Column(key="paper_rationale", head="paper rationale")
PAPER_TOKENS = Column(key="paper_tokens", head="paper tokens", form=count)


def main(lab: Lab, table: Reproduction) -> Page:
    """All systems side by side; from rows that are there, where some were given."""
    if lab.sources.rows:
        return readings(lab.sources.rows, table.systems, table.title)
    backend = lab.sources.backend.identity

    def beside(system: str, target: int | None) -> paper.Scores | None:
        return paper.scores(Spec.parse(system).name, backend, target)

    note = f"The paper's figures are those of {paper.block_of(backend)}."
    return _compared(lab, table, beside, (note,))


def ablation(lab: Lab, table: Reproduction) -> Page:
    """The method's parts, one after another."""

    def beside(system: str, target: int | None) -> paper.Scores | None:
        _, scores = paper.ABLATION.lines.get(system, ("", None))
        return scores if target == paper.TARGET else None

    said = (
        "The paper does not give the length of L1's windows; five of 256 tokens make the 1,269 it "
        "reports. L2 cuts as L3 does, and searches episodes by one vector each. L4 is our own "
        "method, which the paper does not have.",
        "The paper's figures are those of GPT-4o-mini.",
    )
    return _compared(lab, table, beside, said)


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Computes the scores of a run, by column; those of answers where a model answered."""
    scores = score(rows)
    found: dict[str, Any] = {
        "questions": scores.questions,
        "hit": scores.hit,
        "hit_interval": scores.hit_interval,
        "tokens": scores.context_tokens,
    }
    if answers := scores.answers:
        found |= {
            "accuracy": answers.accuracy,
            "accuracy_interval": answers.accuracy_interval,
            "strict": answers.strict_accuracy,
            "strict_interval": answers.strict_interval,
            "judges": span(answers.judges),
            "unanswered": answers.unanswered,
            "rationale": answers.rationale_similarity,
            "prompt_tokens": answers.prompt_tokens / scores.questions,
        }
    return found


def _compared(
    lab: Lab,
    table: Reproduction,
    beside: Callable[[str, int | None], paper.Scores | None],
    said: tuple[str, ...],
) -> Page:
    rows, shown, used = [], [], []
    answers = answered(lab)
    for threads, system in combinations(lab, table):
        own = figures(lab.loop(system, threads))
        theirs = beside(system, threads.printed)
        stage = "L4" if system == "tsim" else paper.ABLATION.lines.get(system, (None,))[0]
        row = {**place_of(threads), "system": system, "stage": stage, **own}
        rows.append({**row, **_paper(theirs, answers=answers)})
        shown.append(_bar(label_of(threads, table, system), row, theirs, answers=answers))
        used.append(threads)
    stages = (Column(key="stage", head="stage", form=text),) if table.name == "ablation" else ()
    measure = "accuracy" if answers else "CL hit"
    return page(
        lab,
        table,
        about=(table.about, what(answers=answers), described(lab, used)),
        tables=[
            Table(
                columns=(SYSTEM, *lengths(table), *stages, *_columns(answers=answers)),
                rows=tuple(rows),
            )
        ],
        notes=(*said, *notes(lab, table), INTERVAL),
        drawing=bars(
            shown,
            title=table.title,
            description=f"{measure[0].upper()}{measure[1:]} with Wilson intervals.",
            mark_name=f"the paper's {measure}",
        ),
        used=used,
    )


def what(*, answers: bool) -> str:
    """Says what the columns mean."""
    return f"{WHAT_ACCURACY} {WHAT_HIT}" if answers else WHAT_HIT


def _columns(*, answers: bool) -> tuple[Column, ...]:
    if not answers:
        return (*HIT, TOKENS, PAPER_HIT, PAPER_TOKENS)
    theirs = (PAPER_ACCURACY, PAPER_HIT, PAPER_RATIONALE, PAPER_TOKENS)
    return (*ACCURACY, *HIT, RATIONALE, TOKENS, *theirs)


def _paper(line: paper.Scores | None, *, answers: bool) -> dict[str, Any]:
    if line is None:
        return {}
    found = {"paper_hit": line.hit, "paper_tokens": line.tokens}
    if answers:
        found |= {"paper_accuracy": line.accuracy}
        found |= {} if line.rationale is None else {"paper_rationale": line.rationale}
    return found


def _bar(label: str, row: Mapping[str, Any], theirs: paper.Scores | None, *, answers: bool) -> Bar:
    """Accuracy where a model answers, and CL hit where none does."""
    key = "accuracy" if answers else "hit"
    low, high = row[f"{key}_interval"]
    mark = None if theirs is None else (theirs.accuracy if answers else theirs.hit)
    return Bar(
        label=label,
        value=row[key],
        low=low,
        high=high,
        colour=base_colour(row["system"]),
        mark=mark,
    )
