"""All systems on all tracks: one table over tracks, one for each, and figures by budget."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scaleqa.errors import DataError
from scaleqa.pages.drawings import PALETTE, Bar, Line, Point, bars, lines
from scaleqa.pages.forms import count, fine, text
from scaleqa.pages.page import Page, Section
from scaleqa.pages.table import Column, Table
from scaleqa.report.retrieval import retrieval_blocks
from scaleqa.reproduce.lab import Lab
from scaleqa.reproduce.reproduction import (
    INTERVAL,
    SYSTEM,
    Reproduction,
    described,
    notes,
    page,
)
from scaleqa.reproduce.splits import (
    DIFFERENCE,
    FITTED,
    HELD_OUT,
    SHARES,
    SPLITS,
    difference,
    of_split,
    shares,
)
from scaleqa.reproduce.tracks import (
    ASIDES,
    ASSISTANT,
    BRAIDED,
    FRIENDS,
    GROUPS,
    OTHER_WORDS,
    RESUMED,
    WRITTEN,
    Measured,
    Track,
    available,
    measure,
    orders,
    together,
)
from scaleqa.specs import Spec

# Systems that are measured at every budget: ours, the nearest turns, and perfect cuts.
OURS, TURNS, CUTS = "tsim", "packed_turns", "perfect_episodes"
BUDGETS = (150, 300, 500, 750, 1100)
# What memories say of absent matters is in `scaleqa reproduce late`: most systems say nothing.
COMPARED = (WRITTEN, OTHER_WORDS, ASIDES, FRIENDS, ASSISTANT, BRAIDED, RESUMED)
NAMES = tuple(track.name for track in COMPARED)
# Lines of more tracks in one drawing could not be told apart.
DRAWN = (OTHER_WORDS, ASIDES)
BY_BUDGET = (
    f"By budget: {TURNS} shows the nearest single turns, {CUTS} is given the boundaries of every "
    f"dialogue and shows the nearest dialogues that fit as a whole. Ratios are {OURS}'s share over "
    "theirs at the same budget."
)


def results(lab: Lab, table: Reproduction) -> Page:
    """Every system on every track at its own budget, some at every budget."""
    if len(table.targets) > 1:
        raise DataError("results is about one length; name one --target")
    (target,) = table.targets
    chosen = [one for one in COMPARED if one.name in table.tracks]
    compared = [[track for track in group if track in chosen] for group in GROUPS]
    groups = [own for group in compared if (own := available(lab.sources, target, *group))]
    if not groups:
        raise DataError(f"the records have no questions for {', '.join(table.tracks)}")
    systems = {track.name: (*table.systems, *_curves(table)) for group in groups for track in group}
    lab.expect(sum(len(together(group, systems)) for group in groups))
    lab.ahead(one for group in groups for one in orders(lab, target, group, systems))
    found = [one for group in groups for one in measure(lab, target, group, systems)]
    by_budget = _by_budget(found, table)
    made = page(
        lab,
        table,
        about=(
            table.about,
            "In context: the context holds every evidence turn, whole. Tokens are means of what is "
            f"in the context. {SPLITS}",
            described(lab, [one.threads for one in found]),
        ),
        tables=[
            overview(found, table),
            *([by_budget] if by_budget.rows else []),
            *(detail(one, table) for one in found),
        ],
        notes=(
            *notes(lab, table),
            INTERVAL,
            *([BY_BUDGET] if by_budget.rows else []),
            f"Differences are the first system's share less the system's, paired by question of "
            f"{HELD_OUT}; intervals by bootstrap.",
        ),
        drawing=_drawing(found, table),
        used=[one.threads for one in found],
    )
    written = [_in_detail(one, table) for one in found if one.track == WRITTEN]
    return replace(made, sections=(*made.sections, *written))


def _in_detail(written: Measured, table: Reproduction) -> Section:
    """The systems as written, on all questions."""
    rows = {system: written.rows[system] for system in table.systems}
    settings = written.threads.packages[0].settings
    return Section(
        title="As written in detail, all questions",
        blocks=tuple(retrieval_blocks(rows, settings)),
    )


def _curves(table: Reproduction) -> list[str]:
    """Returns the systems that are measured at every budget, as far as the table has them."""
    names = {Spec.parse(system).name for system in table.systems}
    return [
        _at(name, budget) for name in (OURS, TURNS, CUTS) if name in names for budget in BUDGETS
    ]


def _at(name: str, budget: int) -> str:
    return f"{name}:budget={budget}"


def overview(found: Sequence[Measured], table: Reproduction) -> Table:
    """A line for each system, with a column for each track."""
    rows = []
    for system in table.systems:
        row: dict[str, Any] = {"system": system}
        for one in found:
            figures = _figures(one, system)
            row |= {f"{one.track.name} {key}": value for key, value in figures.items()}
        rows.append(row)
    columns = [SYSTEM]
    for one in found:
        columns += _columns(one.track)
    return Table(
        title=f"All tracks: {HELD_OUT} ({FITTED}; context tokens)",
        columns=tuple(columns),
        rows=tuple(rows),
    ).filled()


def _figures(one: Measured, system: str) -> dict[str, Any]:
    """Returns nothing for a system that was left out on the track."""
    return shares(one.rows[system]) if system in one.rows else {}


def _columns(track: Track) -> list[Column]:
    """The columns of a track in the table over all tracks."""
    name = track.name

    def small(key: str, form: Any = None) -> Column:
        return Column(key=f"{name} {key}", head=key, **({"form": form} if form else {}))

    below = (small(FITTED), small("context_tokens", count))
    return [Column(key=f"{name} in_context", head=name, below=below)]


def detail(one: Measured, table: Reproduction) -> Table:
    """The systems on one track, with intervals and differences to the first."""
    first = one.rows[table.systems[0]]
    rows = []
    for system in table.systems:
        if system not in one.rows:
            continue
        own = one.rows[system]
        rows.append({"system": system, **shares(own), **difference(own, first)})
    held = of_split(first, HELD_OUT)
    asked = f" ({held.questions:,} questions of {HELD_OUT})" if held else ""
    title = f"{one.track.name.capitalize()}{asked}"
    columns = (SYSTEM, *SHARES, *DIFFERENCE)
    return Table(title=title, columns=columns, rows=tuple(rows)).filled()


def _by_budget(found: Sequence[Measured], table: Reproduction) -> Table:
    """Ours beside the nearest turns and perfect cuts, by track and budget."""
    names = [*dict.fromkeys(Spec.parse(system).name for system in _curves(table))]
    rows = []
    for one in found:
        for budget in BUDGETS if names else ():
            row: dict[str, Any] = {"track": one.track.name, "budget": budget}
            figures = {name: shares(one.rows[_at(name, budget)]) for name in names}
            for name, own in figures.items():
                row |= {f"{name} {key}": value for key, value in own.items()}
            for other in (TURNS, CUTS):
                row |= _ratios(figures, other)
            rows.append(row)
    columns = [
        Column(key="track", head="track", form=text),
        Column(key="budget", head="budget", form=count),
    ]
    for name in names:
        below = (
            Column(key=f"{name} {FITTED}", head=FITTED),
            Column(key=f"{name} context_tokens", head="tokens", form=count),
        )
        columns.append(Column(key=f"{name} in_context", head=name, below=below))
    for other in (TURNS, CUTS):
        key = f"over {other}"
        fitted = Column(key=f"{key} {FITTED}", head=FITTED, form=fine)
        columns.append(Column(key=key, head=f"{OURS} ÷ {other}", form=fine, below=(fitted,)))
    title = f"By budget: {HELD_OUT} ({FITTED}; context tokens)"
    return Table(title=title, columns=tuple(columns), rows=tuple(rows)).filled()


def _ratios(figures: Mapping[str, Mapping[str, Any]], other: str) -> dict[str, Any]:
    """Returns our share over another's, of both splits; nothing where there is none, or zero."""
    if OURS not in figures or other not in figures:
        return {}
    ratios = {}
    for key, column in (("in_context", f"over {other}"), (FITTED, f"over {other} {FITTED}")):
        ours, theirs = figures[OURS][key], figures[other][key]
        ratios[column] = ours / theirs if ours is not None and theirs else None
    return ratios


def _drawing(found: Sequence[Measured], table: Reproduction) -> str:
    """Lines by budget on the tracks that are drawn; if there are none, bars of all tracks."""
    names = [*dict.fromkeys(Spec.parse(system).name for system in _curves(table))]
    description = f"All evidence in context, split {HELD_OUT}, Wilson intervals."
    drawn: list[Line] = []
    for one in found:
        for name in names if one.track in DRAWN else ():
            points = tuple(_points(one, name))
            label = f"{one.track.name} · {name}"
            colour = PALETTE[len(drawn) % len(PALETTE)]
            drawn += [Line(label=label, points=points, colour=colour)] if points else []
    if not drawn:
        return bars(_bars(found, table), title=table.title, description=description)
    return lines(
        drawn,
        title=table.title,
        description=description,
        x_label="budget in tokens",
        ticks=[(budget, f"{budget:,}") for budget in BUDGETS],
    )


def _points(one: Measured, name: str) -> Iterator[Point]:
    for budget in BUDGETS:
        held = of_split(one.rows[_at(name, budget)], HELD_OUT)
        if held:
            low, high = held.in_context.interval
            yield Point(x=budget, y=held.in_context.value, low=low, high=high)


def _bars(found: Sequence[Measured], table: Reproduction) -> list[Bar]:
    shown = []
    for one in found:
        for system in table.systems:
            held = of_split(one.rows[system], HELD_OUT)
            if held:
                low, high = held.in_context.interval
                label = f"{one.track.name} · {system}"
                shown.append(Bar(label=label, value=held.in_context.value, low=low, high=high))
    return shown
