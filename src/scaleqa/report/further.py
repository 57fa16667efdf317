"""The further sections of the page: the loop, parts of the questions, lengths, costs."""

import math
from collections.abc import Sequence

from scaleqa.backends import is_stand_in
from scaleqa.report import tables
from scaleqa.report.groups import Group, length_name
from scaleqa.report.html import Cell, Cells, figure, paragraph, table
from scaleqa.report.sections import Colours
from scaleqa.report.signs import Signs
from scaleqa.report.svg import Line, Point, lines, percent


def exchanges(group: Group, found: Sequence[tables.Exchanges], colours: Colours) -> str:
    """Writes what went to earlier exchanges, and the hit rate along the question order."""
    signs = Signs(group.setting)
    both = signs.both
    chart = lines(
        [
            Line(
                label=one.system,
                colour=colours[one.system],
                points=tuple(Point(x=block.end, y=block.hit) for block in one.blocks),
            )
            for one in found
        ],
        title="CL hit along the question order",
        description="Share of questions with all evidence in context, part by part of the order.",
        x_label="share of a package's questions asked so far",
        ticks=[(tick / 5, f"{20 * tick} %") for tick in range(6)],
    )
    body: list[Cells] = [
        [
            Cell(text=one.system, colour=colours[one.system]),
            f"{one.shown:,}",
            f"{one.from_exchanges:,}",
            percent(one.from_exchanges / one.shown) if one.shown else "–",
            f"{one.with_some:,} of {one.questions:,}",
            _optional(one.hit_with),
            _optional(one.hit_without),
        ]
        for one in found
    ]
    drawn = figure(chart, f"CL hit by part of the question order{signs.after}")
    off = "" if group.setting.writeback else " Write-back is off: there are no earlier exchanges."
    return (
        paragraph(
            "Each answered question becomes two more turns of the thread. They resemble later "
            f"questions and may take the place of evidence.{off}"
        )
        + f'<div class="figures">{drawn}</div>'
        + table(
            "Turns shown that were earlier exchanges",
            [("system", ""), ("turns shown", both), ("earlier exchanges", both), ("share", both),
             ("questions with some", both), ("CL hit with some", both), ("CL hit without", both)],
            body,
        )
        + signs.below(
            "Parts of all packages are pooled. Questions are asked in the order of their ids, so a "
            "part holds few domains: read a line against the other lines of its part"
        )
    )  # fmt: skip


def breakdown(group: Group, kind: str, found: dict[str, dict[str, tables.Cell]]) -> str:
    """Writes accuracy and CL hit by domain or stress, as heat maps."""
    signs = Signs(group.setting)
    both = signs.both
    out = ""
    for name, attribute in (("CL hit", "hit"), ("Accuracy", "accuracy")):
        body: list[Cells] = []
        for part, cells in found.items():
            most = max(cell.questions for cell in cells.values())
            body.append([
                part.replace("_", " "),
                    f"{most:,}",
                *(_heat(getattr(cells[s], attribute)) if s in cells else "–"
                  for s in group.systems),
            ])  # fmt: skip
        heads = [(kind, ""), ("questions", ""), *((system, both) for system in group.systems)]
        out += table(f"{name} by {kind}", heads, body)
    return out + signs.below()


def scaling(found: Sequence[tables.Scaling], colours: Colours) -> str:
    """Writes accuracy and CL hit by length."""
    out = ""
    for one in found:
        signs = Signs(one.setting)
        both = signs.both
        targets = sorted({length.target for row in one.systems.values() for length in row})
        shortest = min(target for target in targets if target)
        places = {target: math.log2(target or shortest / 2) for target in targets}
        figures = "".join(
            figure(
                _length_lines(one, places, colours, attribute, name),
                f"{name} by length of the thread, Wilson's 95 % intervals{signs.after}",
            )
            for name, attribute in (("CL hit", "hit"), ("Accuracy", "accuracy"))
        )
        heads = [("system", "")] + [
            (f"{name}, {length_name(target)}", both)
            for target in targets
            for name in ("CL hit", "accuracy")
        ]
        body: list[Cells] = []
        for system, row in one.systems.items():
            at = {length.target: length for length in row}
            cells: Cells = [Cell(text=system, colour=colours[system])]
            for target in targets:
                length = at.get(target)
                if length is None:
                    cells += ["–", "–"]
                else:
                    asked = f"{length.questions:,} questions"
                    cells += [Cell(text=percent(length.hit), below=asked),
                              Cell(text=percent(length.accuracy), below=asked)]  # fmt: skip
            body.append(cells)
        loop = "closed loop" if one.setting.writeback else "no write-back"
        title = f"By length: {one.setting.backend.partition('@')[0]}, {loop}"
        out += f'<div class="figures">{figures}</div>{table(title, heads, body)}' + signs.below(
            "Accuracy credits an unanswered question with a quarter. Shorter threads come in more "
            "packages, so the closed loop is shorter too"
        )
    return out


def costs(group: Group, found: Sequence[tables.Cost], colours: Colours) -> str:
    """Writes tokens, times, calls and prices."""
    signs = Signs(group.setting)
    both, reader = signs.both, signs.of("reader")
    counted = any(one.prompt_tokens or one.completion_tokens for one in found)
    answering = 0 if is_stand_in(group.setting.backend) else 1
    priced = any(one.cost_usd is not None for one in found)
    heads = [("system", ""), ("context tokens, sum", both), ("prompt tokens, sum", reader),
             ("completion tokens, sum", reader), ("retrieve p50, ms", both),
             ("p95", both), ("answer p50, ms", reader), ("p95", reader),
             ("LLM calls to answer", reader), ("of the system itself", "")]  # fmt: skip
    if priced:
        heads += [("cost, USD", reader), ("a question", reader)]
    body: list[Cells] = []
    for one in found:
        cells: Cells = [
            Cell(text=one.system, colour=colours[one.system]),
            f"{one.context_tokens:,}",
            f"{one.prompt_tokens:,}" if counted else "–",
            f"{one.completion_tokens:,}" if counted else "–",
            f"{one.retrieve_p50_ms:,.1f}",
            f"{one.retrieve_p95_ms:,.1f}",
            f"{one.answer_p50_ms:,.1f}",
            f"{one.answer_p95_ms:,.1f}",
            f"{answering * one.questions:,}",
            "–" if one.llm_calls is None else f"{one.llm_calls:,}",
        ]
        if priced:
            paid = one.cost_usd
            cells += ["–", "–"] if paid is None else [f"{paid:.4f}", f"{paid / one.questions:.6f}"]
        body.append(cells)
    told = [] if counted else ["The backend counts no tokens"]
    return table("Tokens, times, calls", heads, body) + signs.below(
        "Context tokens by the benchmark's count, 1.3 a word; prompt and completion tokens by the "
        "provider's. Times are of the machine that ran",
        *told,
    )


def _length_lines(
    one: tables.Scaling, places: dict[int, float], colours: Colours, attribute: str, name: str
) -> str:
    return lines(
        [
            Line(
                label=system,
                colour=colours[system],
                points=tuple(
                    Point(
                        x=places[length.target],
                        y=getattr(length, attribute),
                        low=getattr(length, f"{attribute}_interval").low,
                        high=getattr(length, f"{attribute}_interval").high,
                    )
                    for length in row
                ),
            )
            for system, row in one.systems.items()
        ],
        title=f"{name} by length of the thread",
        description="A line a system; upright bars are Wilson's 95 % intervals.",
        x_label="length of the thread, tokens",
        ticks=[(place, length_name(target)) for target, place in places.items()],
    )


def _heat(value: float) -> Cell:
    return Cell(text=f"{100 * value:.1f}", heat=value)


def _optional(value: float | None) -> str:
    return "–" if value is None else percent(value)
