"""Our own method beside the paper's, its rivals and perfect boundaries, at the same budget."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scaleqa.evaluate import Row
from scaleqa.figures.retrieval import in_context_by
from scaleqa.lengths import length
from scaleqa.packages.resume import NAMED, UNNAMED
from scaleqa.pages.drawings import PALETTE, Bar, bars
from scaleqa.pages.forms import text
from scaleqa.pages.page import Page
from scaleqa.pages.table import Column, Table
from scaleqa.report.retrieval import WHAT_ABSENT
from scaleqa.reproduce.lab import Lab, Threads
from scaleqa.reproduce.reproduction import (
    INTERVAL,
    SYSTEM,
    Reproduction,
    described,
    notes,
    page,
)
from scaleqa.reproduce.splits import (
    ABSENCE,
    DIFFERENCE,
    HELD_OUT,
    SHARES,
    SPLITS,
    absences,
    difference,
    of_split,
    shares,
)
from scaleqa.reproduce.tracks import (
    ABSENT,
    ASIDES,
    BRAIDED,
    OTHER_ABSENT,
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
from scaleqa.systems import find_system, with_budget
from scaleqa.systems.tsim import PARTS

OURS = "tsim"
# Tokens of the context; two dialogues have to fit where topics resume.
BUDGET = 500
BUDGETS = {BRAIDED: 750, RESUMED: 750}
# The part of our method that follows a topic to where it resumes.
REENTRY = "reentry"
# Beyond this length, systems that are slow to read a thread are left out.
LONG = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Tracks of one length that have the same threads, and the systems on them.

    Attributes:
        target: The length.
        tracks: The tracks.
        systems: The systems at their budget, ours first.
        parts: The parts of our method that are left out, each in turn.
    """

    target: int
    tracks: tuple[Track, ...]
    systems: tuple[str, ...]
    parts: tuple[str, ...] = ()

    @property
    def runs(self) -> dict[str, Sequence[str]]:
        """The systems for each track, ours without each part included."""
        every = (*self.systems, *(self.without(part) for part in self.parts))
        return dict.fromkeys((track.name for track in self.tracks), every)

    def without(self, part: str) -> str:
        """Returns our system without a part."""
        return f"{self.systems[0]},off={part}"


def late(lab: Lab, table: Reproduction) -> Page:
    """Systems at the same budget by setting; our method less each of its parts; tracks."""
    settings = _settings(lab, table)
    lab.expect(sum(len(together(one.tracks, one.runs)) for one in settings))
    lab.ahead(order for one in settings for order in orders(lab, one.target, one.tracks, one.runs))
    rows: list[Mapping[str, Any]] = []
    parts: list[Mapping[str, Any]] = []
    absent: list[Mapping[str, Any]] = []
    resuming: list[Mapping[str, Any]] = []
    drawn: list[Bar | None] = []
    used: list[Threads] = []
    for setting in settings:
        for one in measure(lab, setting.target, setting.tracks, setting.runs):
            used.append(one.threads)
            found = _rows(one, setting, setting.systems)
            if one.track.absent:
                absent += found
                continue
            (resuming if one.track == RESUMED else rows).extend(found)
            drawn += [_bar(_where(one, short=True), spec, one.rows[spec])
                      for spec in setting.systems]  # fmt: skip
            off = {setting.without(part): part for part in setting.parts}
            parts += [{**row, "off": off[row["system"]]} for row in _rows(one, setting, off)]
    without = Column(key="off", head="without", form=text)
    named = tuple(Column(key=kind, head=kind) for kind in KINDS.values())
    tables = [
        Table(columns=(SYSTEM, WHERE, *COLUMNS), rows=tuple(rows)),
        Table(title="Without one part", columns=(without, WHERE, *COLUMNS), rows=tuple(parts)),
        Table(
            title="Matters that never came up",
            columns=(SYSTEM, WHERE, *ABSENCE, *COLUMNS),
            rows=tuple(absent),
        ).filled(),
    ]
    if resuming:
        columns = (SYSTEM, WHERE, *named, *COLUMNS)
        tables.append(Table(title="Topics that resume", columns=columns, rows=tuple(resuming)))
    return page(
        lab,
        table,
        about=(
            table.about,
            f"In context: the context holds every evidence turn. {SPLITS} The difference is ours "
            f"less the system's, paired by question of {HELD_OUT}. {WHAT_ABSENT}",
            described(lab, used),
        ),
        tables=tables,
        notes=(
            *notes(lab, table),
            INTERVAL,
            "perfect_episodes is given the boundaries of every dialogue.",
            *([RESUMING] if resuming else []),
        ),
        drawing=bars(
            [bar for bar in drawn if bar],
            title=table.title,
            description=f"All evidence in context, split {HELD_OUT}, Wilson intervals.",
        ),
        used=used,
    )


WHERE = Column(key="where", head="threads", form=text)
COLUMNS = (*SHARES, *DIFFERENCE)
KINDS = {NAMED: "named", UNNAMED: "unnamed"}
RESUMING = (
    "Topics that resume: of threads with sequels (docs/benchmark.md), the questions that have one. "
    "Their evidence is what changed and what of the record still counts. Named: the sequel says "
    "the name that the question uses."
)


def _settings(lab: Lab, table: Reproduction) -> list[Setting]:
    """What is measured: all lengths as written, and the other tracks at the shortest."""
    shortest = min(table.targets)
    settings = []
    for target in table.targets:
        words = (OTHER_WORDS,) if target == shortest else ()
        settings.append(_setting(lab, table, target, WRITTEN, *words, parts=target == shortest))
    for tracks, parts in (
        ((ASIDES,), True),
        ((BRAIDED,), True),
        ((ABSENT, OTHER_ABSENT), False),
        ((RESUMED,), False),
    ):
        if available(lab.sources, shortest, *tracks):
            settings.append(_setting(lab, table, shortest, *tracks, parts=parts))
    return settings


def _setting(lab: Lab, table: Reproduction, target: int, *tracks: Track, parts: bool) -> Setting:
    first, *_ = tracks
    budget = BUDGETS.get(first, BUDGET)
    systems = [f"{OURS}:budget={budget}"]
    if first == RESUMED:
        systems.append(f"{systems[0]},off={REENTRY}")
    systems += _specs(table, target, budget)
    return Setting(
        target=target,
        tracks=tuple(available(lab.sources, target, *tracks)),
        systems=tuple(dict.fromkeys(systems)),
        parts=tuple(_parts(first)) if parts else (),
    )


def _parts(track: Track) -> list[str]:
    """The parts that play a part: gaps do in plain streams alone, links in mixed ones alone."""
    idle = ("boundaries", "speakers") if track == BRAIDED else ("links",)
    return [part for part in PARTS if part not in idle]


def _specs(table: Reproduction, target: int, budget: int) -> Iterator[str]:
    """Holds systems without options to the budget, as far as they can be."""
    for system in table.systems:
        spec = Spec.parse(system)
        if target > LONG and find_system(spec.name).slow_to_ingest:
            continue
        yield system if spec.options else with_budget(system, budget)


def _rows(one: Measured, setting: Setting, systems: Iterable[str]) -> list[dict[str, Any]]:
    """The figures of systems on a track, beside ours."""
    ours = one.rows[setting.systems[0]]
    rows = []
    for system in systems:
        own = one.rows[system]
        row = {"where": _where(one), "system": system, **shares(own), **difference(own, ours)}
        row |= absences(own) if one.track.absent else {}
        row |= _shares(own, _kind) if one.track == RESUMED else {}
        rows.append(row)
    return rows


def _where(one: Measured, *, short: bool = False) -> str:
    """Names length and track; for a drawing, the track alone where it is not as written."""
    target = length(one.threads.target)
    if one.track == WRITTEN:
        return target
    return one.track.name if short else f"{target}, {one.track.name}"


def _shares(rows: Sequence[Row], part: Callable[[Row], str | None]) -> dict[str, float]:
    """The share of questions with all evidence in context, by part of the questions."""
    return {name: share.value for name, share in in_context_by(rows, part).items()}


def _kind(row: Row) -> str:
    """Whether the sequel of a question says the name that the question uses."""
    return KINDS[row.stress[-1]]


def _bar(where: str, spec: str, rows: Sequence[Row]) -> Bar | None:
    """Names a bar as shortly as a picture can: budgets are in the table."""
    parsed = Spec.parse(spec)
    off = parsed.options.get("off")
    held = of_split(rows, HELD_OUT)
    if held is None:
        return None
    low, high = held.in_context.interval
    return Bar(
        label=f"{where} · {f'off={off}' if off else parsed.name}",
        value=held.in_context.value,
        low=low,
        high=high,
        colour=PALETTE[0] if parsed.name == OURS and not off else PALETTE[1],
    )
