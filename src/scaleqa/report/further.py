"""Further sections of the report: earlier exchanges, parts of the questions, lengths, costs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scaleqa.figures.breakdown import Cell, Length, Scaling
from scaleqa.figures.costs import Cost
from scaleqa.figures.exchanges import Exchanges
from scaleqa.figures.groups import Group, Setting
from scaleqa.figures.retrieval import Retrieval
from scaleqa.lengths import length_name
from scaleqa.pages.drawings import Line, Point, lines
from scaleqa.pages.forms import count, fine, percent, percent_span, tenths, text
from scaleqa.pages.page import Drawing, Paragraph
from scaleqa.pages.table import Column, Table
from scaleqa.report.columns import Blocks, Colours, system_column
from scaleqa.report.signs import Signs
from scaleqa.report.words import hit_of, reader_of
from scaleqa.stats import Interval


def exchanges(group: Group, found: Sequence[Exchanges], colours: Colours) -> Blocks:
    """Shows what went to earlier exchanges, and the hit rate along the question order."""
    if group.setting.backend is None:
        return ()
    signs = Signs(group.setting)
    both = signs.both
    title = "CL hit along the question order"
    drawn = lines(
        [
            Line(
                label=one.system,
                colour=colours[one.system],
                points=tuple(Point(x=block.end, y=block.hit) for block in one.blocks),
            )
            for one in found
        ],
        title=title,
        description="Share of questions with all evidence in context, part by part of the order.",
        x_label="share of a package's questions asked so far",
        ticks=[(tick / 5, f"{20 * tick} %") for tick in range(6)],
    )
    rows = tuple(
        {
            "system": one.system,
            "shown": one.shown,
            "exchanges": one.from_exchanges,
            "share": one.from_exchanges / one.shown if one.shown else None,
            "some": (one.with_some, one.questions),
            "hit_with": one.hit_with,
            "hit_without": one.hit_without,
        }
        for one in found
    )
    columns = (
        system_column(colours),
        Column(key="shown", head="turns shown", form=count, signs=both),
        Column(key="exchanges", head="earlier exchanges", form=count, signs=both),
        Column(key="share", head="share", form=percent, signs=both),
        Column(key="some", head="questions with some", form=_of, signs=both),
        Column(key="hit_with", head="CL hit with some", form=percent, signs=both),
        Column(key="hit_without", head="CL hit without", form=percent, signs=both),
    )
    off = "" if group.setting.writeback else " Write-back is off: there are no earlier exchanges."
    return (
        Paragraph(
            text="Each answered question becomes two more turns of the thread. They resemble later "
            f"questions and may take the place of evidence.{off}"
        ),
        Drawing(
            svg=drawn, title=title, caption=f"CL hit by part of the question order{signs.after}"
        ),
        Table(title="Turns shown that were earlier exchanges", columns=columns, rows=rows),
        *signs.below(
            "Parts of all packages are pooled. Questions are asked in the order of their ids, so a "
            "part holds few domains: read a line against the other lines of its part"
        ),
    )


def retrieved(group: Group, found: Sequence[Retrieval], colours: Colours) -> Blocks:
    """Shows how whole the evidence comes back, and what is kept for it."""
    signs = Signs(group.setting)
    rows = tuple(
        {
            "system": one.system,
            "recalled": one.recalled.value,
            "recalled_interval": one.recalled.interval,
            "together": one.together.value if one.together else None,
            "together_interval": one.together.interval if one.together else None,
            **(asdict(one.kept) if one.kept else {}),
        }
        for one in found
    )
    below = Column(key="recalled_interval", head="95 %", form=percent_span)
    beside = Column(key="together_interval", head="95 %", form=percent_span)
    columns = (
        system_column(colours),
        Column(key="recalled", head="recall@5", form=percent, signs=signs.both, below=(below,)),
        Column(
            key="together", head="co-containment", form=percent, signs=signs.both, below=(beside,)
        ),
        Column(key="vectors", head="vectors", form=count),
        Column(key="text_amplification", head="text ×", form=fine),
        Column(key="embedded_texts", head="texts embedded per turn", form=fine),
        Column(key="ingest_ms_per_turn", head="ingest, ms per turn", form=fine),
    )
    return (
        Paragraph(
            text="Recall@5: the best five units hold all evidence. Co-containment: one unit does, "
            "of questions with several evidence turns. Text ×: words indexed over words read."
        ),
        Table(title="Retrieval and what is kept", columns=columns, rows=rows).filled(),
        *signs.below("Ingest leaves out the embedding of texts, which is cached and shared"),
    )


def breakdown(group: Group, kind: str, found: dict[str, dict[str, Cell]]) -> Blocks:
    """Shows CL hit, and accuracy where a model answered, by domain or stress, as heat maps."""
    signs = Signs(group.setting)
    columns = (
        Column(key="part", head=kind, form=text),
        Column(key="questions", head="questions", form=count),
        *(
            Column(key=system, head=system, form=_hundred, heat=True, signs=signs.both)
            for system in group.systems
        ),
    )
    shown = []
    for name, attribute in _measures(group.setting):
        rows = tuple(
            {
                "part": part.replace("_", " "),
                "questions": max(cell.questions for cell in cells.values()),
                **{system: getattr(cell, attribute) for system, cell in cells.items()},
            }
            for part, cells in found.items()
        )
        shown.append(Table(title=f"{name} by {kind}", columns=columns, rows=rows))
    return (*shown, *signs.below())


def scaling(found: Sequence[Scaling], colours: Colours) -> Blocks:
    """Shows CL hit, and accuracy where a model answered, by length."""
    return tuple(block for one in found for block in _scaled(one, colours))


def costs(group: Group, found: Sequence[Cost], colours: Colours) -> Blocks:
    """Shows tokens, times, calls and prices."""
    signs = Signs(group.setting)
    both, reader = signs.both, signs.of("reader")
    counted = any(one.prompt_tokens or one.completion_tokens for one in found)
    priced = (
        Column(key="cost", head="cost, USD", form=lambda value: f"{value:.4f}", signs=reader),
        Column(key="each", head="per question", form=lambda value: f"{value:.6f}", signs=reader),
    )
    columns = (
        system_column(colours),
        Column(key="context", head="context tokens, sum", form=count, signs=both),
        Column(key="prompt", head="prompt tokens, sum", form=count, signs=reader),
        Column(key="completion", head="completion tokens, sum", form=count, signs=reader),
        Column(key="retrieve_p50", head="retrieve p50, ms", form=tenths, signs=both),
        Column(key="retrieve_p95", head="p95", form=tenths, signs=both, joined=True),
        Column(key="answer_p50", head="answer p50, ms", form=tenths, signs=reader),
        Column(key="answer_p95", head="p95", form=tenths, signs=reader, joined=True),
        Column(key="calls", head="LLM calls to answer", form=count, signs=reader),
        Column(key="own_calls", head="LLM calls of the system", form=count),
        *(priced if any(one.cost_usd is not None for one in found) else ()),
    )
    answered = group.setting.answers
    rows = tuple(_cost_row(one, counted=counted, answered=answered) for one in found)
    return (
        Table(title="Tokens, times, calls", columns=columns, rows=rows).filled(),
        *signs.below(
            "Context tokens by the benchmark's count, 1.3 per word; prompt and completion tokens "
            "by the provider's. Times to retrieve leave out the embedding of texts, which is "
            "cached and shared by all systems; they are of the machine that ran",
        ),
    )


def _measures(setting: Setting) -> tuple[tuple[str, str], ...]:
    hit = (hit_of(setting), "hit")
    return (hit, ("Accuracy", "accuracy")) if setting.answers else (hit,)


def _scaled(one: Scaling, colours: Colours) -> Blocks:
    signs, measures = Signs(one.setting), _measures(one.setting)
    targets = sorted({length.target for row in one.systems.values() for length in row})
    shortest = min(target for target in targets if target)
    places = {target: math.log2(target or shortest / 2) for target in targets}
    columns = [system_column(colours)]
    for target in targets:
        asked = Column(key=f"asked_{target}", head="questions", form=_asked)
        for name, attribute in measures:
            head = f"{name if attribute == 'hit' else attribute}, {length_name(target)}"
            key = f"{attribute}_{target}"
            columns.append(
                Column(key=key, head=head, form=percent, signs=signs.both, below=(asked,))
            )
    rows = []
    for system, lengths in one.systems.items():
        row: dict[str, Any] = {"system": system}
        for length in lengths:
            row[f"asked_{length.target}"] = length.questions
            row |= {f"{a}_{length.target}": _height(length, a)[0] for _, a in measures}
        rows.append(row)
    credit = "Accuracy credits an unanswered question with a quarter"
    return (
        *(
            Drawing(
                svg=_length_lines(one, places, colours, attribute, name),
                title=f"{name} by length of the thread",
                caption=f"{name} by length of the thread, Wilson's 95 % intervals{signs.after}",
            )
            for name, attribute in measures
        ),
        Table(
            title=f"By length: {reader_of(one.setting)}",
            columns=tuple(columns),
            rows=tuple(rows),
        ),
        *signs.below(
            *([credit] if len(measures) > 1 else []),
            "Shorter threads come in more packages, so the closed loop is shorter too",
        ),
    )


def _length_lines(
    one: Scaling,
    places: Mapping[int, float],
    colours: Colours,
    attribute: str,
    name: str,
) -> str:
    return lines(
        [
            Line(
                label=system,
                colour=colours[system],
                points=tuple(
                    Point(x=places[length.target], y=y, low=low, high=high)
                    for length in row
                    for y, (low, high) in [_height(length, attribute)]
                ),
            )
            for system, row in one.systems.items()
        ],
        title=f"{name} by length of the thread",
        description="One line per system; upright bars are Wilson's 95 % intervals.",
        x_label="length of the thread, tokens",
        ticks=[(place, length_name(target)) for target, place in places.items()],
    )


def _cost_row(one: Cost, *, counted: bool, answered: bool) -> dict[str, Any]:
    paid = one.cost_usd
    return {
        "system": one.system,
        "context": one.context_tokens,
        "prompt": one.prompt_tokens if counted else None,
        "completion": one.completion_tokens if counted else None,
        "retrieve_p50": one.retrieve_p50_ms,
        "retrieve_p95": one.retrieve_p95_ms,
        "answer_p50": one.answer_p50_ms,
        "answer_p95": one.answer_p95_ms,
        "calls": one.questions if answered else None,
        "own_calls": one.llm_calls,
        "cost": paid,
        "each": None if paid is None else paid / one.questions,
    }


def _height(length: Length, measure: str) -> tuple[float, Interval]:
    """A measure at a length, with its interval; accuracy is asked for only where it is known."""
    if measure == "accuracy" and length.answers:
        return length.answers.accuracy, length.answers.accuracy_interval
    return length.hit, length.hit_interval


def _of(value: tuple[int, int]) -> str:
    return f"{value[0]:,} of {value[1]:,}"


def _asked(value: int) -> str:
    return f"{value:,} questions"


def _hundred(value: float) -> str:
    return f"{100 * value:.1f}"
