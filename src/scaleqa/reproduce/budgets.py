"""Our method, the nearest turns and perfect cuts on all tracks, by the size of the context."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scaleqa.pages.drawings import PALETTE, Line, Point, lines
from scaleqa.pages.forms import count, fine
from scaleqa.pages.page import Page
from scaleqa.pages.table import Column, Table
from scaleqa.reproduce.lab import Lab
from scaleqa.reproduce.reproduction import (
    INTERVAL,
    TRACK,
    Reproduction,
    described,
    notes,
    page,
)
from scaleqa.reproduce.results import DESCRIPTION, IN_CONTEXT, measured
from scaleqa.reproduce.splits import FITTED, HELD_OUT, of_split, shares
from scaleqa.reproduce.tracks import ASIDES, OTHER_WORDS, Measured

BUDGETS = (150, 300, 500, 750, 1100)
# Lines of more tracks in one drawing could not be told apart.
DRAWN, MOST_DRAWN = (OTHER_WORDS, ASIDES), 2
ABOUT = (
    "packed_turns shows the nearest single turns; perfect_episodes is given the boundaries of "
    "every dialogue and shows the nearest dialogues that fit as a whole. Ratios are the first "
    "system's share over the others' at the same budget."
)


def budgets(lab: Lab, table: Reproduction) -> Page:
    """Systems on every track at several budgets, and by how much the first one finds more."""
    systems = [at(system, budget) for system in table.systems for budget in BUDGETS]
    found = measured(lab, table, systems)
    return page(
        lab,
        table,
        about=(table.about, ABOUT, IN_CONTEXT, described(lab, [one.threads for one in found])),
        tables=[_by_budget(found, table.systems)],
        notes=(*notes(lab, table), INTERVAL),
        drawing=_drawing(found, table),
        used=[one.threads for one in found],
    )


def at(system: str, budget: int) -> str:
    """Returns a system with a budget."""
    return f"{system}{',' if ':' in system else ':'}budget={budget}"


def _by_budget(found: Sequence[Measured], systems: Sequence[str]) -> Table:
    first, *others = systems
    rows = []
    for one in found:
        for budget in BUDGETS:
            row: dict[str, Any] = {"track": one.track.name, "budget": budget}
            figures = {system: shares(one.rows[at(system, budget)]) for system in systems}
            for system, own in figures.items():
                row |= {f"{system} {key}": value for key, value in own.items()}
            for other in others:
                row |= _ratios(figures[first], figures[other], other)
            rows.append(row)
    columns = [TRACK, Column(key="budget", head="budget", form=count)]
    for system in systems:
        below = (
            Column(key=f"{system} {FITTED}", head=FITTED),
            Column(key=f"{system} context_tokens", head="tokens", form=count),
        )
        columns.append(Column(key=f"{system} in_context", head=system, below=below))
    for other in others:
        key = f"over {other}"
        fitted = Column(key=f"{key} {FITTED}", head=FITTED, form=fine)
        columns.append(Column(key=key, head=f"{first} ÷ {other}", form=fine, below=(fitted,)))
    title = f"By budget: {HELD_OUT} ({FITTED}; context tokens)"
    return Table(title=title, columns=tuple(columns), rows=tuple(rows)).filled()


def _ratios(ours: Mapping[str, Any], theirs: Mapping[str, Any], other: str) -> dict[str, Any]:
    """Returns our share over another's, of both splits; nothing where there is none, or zero."""
    ratios = {}
    for key, column in (("in_context", f"over {other}"), (FITTED, f"over {other} {FITTED}")):
        known = ours[key] is not None and theirs[key]
        ratios[column] = ours[key] / theirs[key] if known else None
    return ratios


def _drawing(found: Sequence[Measured], table: Reproduction) -> str:
    """Draws a line for each system on two of the tracks."""
    shown = [one for one in found if one.track in DRAWN] or found[:MOST_DRAWN]
    drawn: list[Line] = []
    for one in shown:
        for system in table.systems:
            points = tuple(_points(one, system))
            label = f"{one.track.name} · {system}"
            colour = PALETTE[len(drawn) % len(PALETTE)]
            drawn += [Line(label=label, points=points, colour=colour)] if points else []
    return lines(
        drawn,
        title=table.title,
        description=DESCRIPTION,
        x_label="budget in tokens",
        ticks=[(budget, f"{budget:,}") for budget in BUDGETS],
    )


def _points(one: Measured, system: str) -> Iterator[Point]:
    for budget in BUDGETS:
        held = of_split(one.rows[at(system, budget)], HELD_OUT)
        if held:
            low, high = held.in_context.interval
            yield Point(x=budget, y=held.in_context.value, low=low, high=high)
