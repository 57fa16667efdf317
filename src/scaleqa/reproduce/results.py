"""All systems on all tracks: one table over tracks, and one for each."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scaleqa.errors import DataError
from scaleqa.pages.drawings import Bar, bars
from scaleqa.pages.forms import count
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
    ANSWERS,
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

# What memories say of absent matters is in `scaleqa reproduce late`: most systems say nothing.
COMPARED = (WRITTEN, OTHER_WORDS, ASIDES, FRIENDS, ASSISTANT, ANSWERS, BRAIDED, RESUMED)
NAMES = tuple(track.name for track in COMPARED)
# Bars of more tracks in one drawing could not be told apart.
DRAWN = 2
IN_CONTEXT = (
    "In context: the context holds every evidence turn, whole. Tokens are means of what is in the "
    f"context. {SPLITS}"
)
DESCRIPTION = f"All evidence in context, split {HELD_OUT}, Wilson intervals."


def results(lab: Lab, table: Reproduction) -> Page:
    """Every system on every track at its own budget."""
    found = measured(lab, table)
    made = page(
        lab,
        table,
        about=(table.about, IN_CONTEXT, described(lab, [one.threads for one in found])),
        tables=[overview(found, table), *(detail(one, table) for one in found)],
        notes=(
            *notes(lab, table),
            INTERVAL,
            f"Differences are the first system's share less the system's, paired by question of "
            f"{HELD_OUT}; intervals by bootstrap.",
        ),
        drawing=bars(_bars(found[:DRAWN], table), title=table.title, description=DESCRIPTION),
        used=[one.threads for one in found],
    )
    written = [_in_detail(one, table) for one in found if one.track == WRITTEN]
    return replace(made, sections=(*made.sections, *written))


def measured(lab: Lab, table: Reproduction, systems: Sequence[str] = ()) -> list[Measured]:
    """Measures systems on the tracks of a table that the records have.

    Args:
        lab: Builds, runs and keeps.
        table: What is reproduced.
        systems: The systems; those of the table if there are none.

    Raises:
        DataError: The table has several lengths, or the records have none of its tracks.
    """
    if len(table.targets) > 1:
        raise DataError(f"{table.name} is about one length; name one --target")
    (target,) = table.targets
    chosen = [one for one in COMPARED if one.name in table.tracks]
    compared = [[track for track in group if track in chosen] for group in GROUPS]
    groups = [own for group in compared if (own := available(lab.sources, target, *group))]
    if not groups:
        raise DataError(f"the records have no questions for {', '.join(table.tracks)}")
    each = {track.name: systems or table.systems for group in groups for track in group}
    lab.expect(sum(len(together(group, each)) for group in groups))
    lab.ahead(one for group in groups for one in orders(lab, target, group, each))
    return [one for group in groups for one in measure(lab, target, group, each)]


def _in_detail(written: Measured, table: Reproduction) -> Section:
    """The systems as written, on all questions."""
    rows = {system: written.rows[system] for system in table.systems}
    settings = written.threads.packages[0].settings
    return Section(
        title="As written in detail, all questions",
        blocks=tuple(retrieval_blocks(rows, settings)),
    )


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
