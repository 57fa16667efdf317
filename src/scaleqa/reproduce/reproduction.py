"""What a reproduction of a table is, and what all of them share."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scaleqa import __version__, paper
from scaleqa.errors import DataError
from scaleqa.figures.groups import Setting
from scaleqa.lengths import length
from scaleqa.packages import AS_WRITTEN
from scaleqa.pages.forms import text
from scaleqa.pages.page import Block, Drawing, Facts, Notes, Page, Paragraph, Section
from scaleqa.pages.table import Column, Table
from scaleqa.report.provenance import Provenance
from scaleqa.report.words import stand_ins
from scaleqa.reproduce.lab import Lab, Threads
from scaleqa.reproduce.tracks import OTHER_WORDS, WRITTEN, Track
from scaleqa.specs import Spec
from scaleqa.systems import find_system, ordered

SYSTEM = Column(key="system", head="system", form=text)
TRACK = Column(key="track", head="track", form=text)
LENGTH = Column(key="length", head="length", form=text)
INTERVAL = "Intervals are Wilson's, 95 %."


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """How a table of the paper is made.

    Attributes:
        name: What users write.
        title: What readers see.
        about: What it shows, in a sentence.
        systems: Names and options of its systems.
        targets: Lengths of its threads.
        answers: Whether a backend answers.
        models: Embedding models that are compared; none for the one that is used anyway.
        tracks: Names of the tracks that are asked; none for questions as written.
        choices: Names of the tracks that can be chosen; none if there is no choice.
        datasets: Whether it is about data sets that the user names, instead of our records.
        lay_out: Gets the figures from a lab and lays them out.
        example: How a user gets a quick look.
    """

    name: str
    title: str
    about: str
    systems: tuple[str, ...]
    targets: tuple[int, ...] = (paper.TARGET,)
    answers: bool = False
    models: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    datasets: bool = False
    lay_out: Callable[[Lab, "Reproduction"], Page]
    example: str = ""


def combinations(
    lab: Lab, table: Reproduction, *, ahead: bool = True
) -> Iterator[tuple[Threads, str]]:
    """Goes through all tracks, lengths and systems.

    Args:
        lab: Builds, runs and keeps.
        table: What is reproduced.
        ahead: Whether rows may be made in parallel, which makes times longer.
    """
    threads = [one.threads(lab, t) for one in _tracks(lab, table) for t in table.targets]
    pairs = [(one, system) for one in threads for system in table.systems]
    lab.expect(len(pairs))
    if ahead:
        order = lab.looping if table.answers else lab.retrieving
        lab.ahead(order(system, threads) for threads, system in pairs)
    yield from pairs


def _tracks(lab: Lab, table: Reproduction) -> list[Track]:
    """The tracks of a table, which ask about the records in one wording or the other.

    Raises:
        DataError: The records have no second wordings, and they are asked for.
    """
    wanted = [one for one in (WRITTEN, OTHER_WORDS) if one.name in (table.tracks or (AS_WRITTEN,))]
    for track in wanted:
        if not track.available(lab.sources, table.targets[0]):
            raise DataError(f"the records have no questions for {track.name}")
    return wanted


def lengths(table: Reproduction) -> tuple[Column, ...]:
    """Columns for tracks and lengths, where there are several."""
    track = (TRACK,) if len(table.tracks) > 1 else ()
    return (*track, LENGTH) if len(table.targets) > 1 else track


def place_of(threads: Threads) -> dict[str, Any]:
    """What a row says about its threads, by column."""
    return {"track": threads.track, "length": length(threads.target)}


def label_of(threads: Threads, table: Reproduction, what: str) -> str:
    """Names a bar: what it is, and the track and the length where there are several."""
    parts = (
        threads.track if len(table.tracks) > 1 else None,
        length(threads.target) if len(table.targets) > 1 else None,
        what,
    )
    return " · ".join(part for part in parts if part)


def described(lab: Lab, threads: Sequence[Threads]) -> str:
    """Says what was asked about what."""
    parts = []
    for one in {one.name: one for one in threads}.values():
        turns = sum(len(package.stream) for package in one.packages)
        many = "thread" if len(one.packages) == 1 else "threads"
        size = f"of {length(one.target)} tokens" if one.target else "without noise"
        parts.append(
            f"{one.questions:,} questions about {len(one.packages)} {many} {size} "
            f"({turns:,} turns{_track(one)})"
        )
    said = "; ".join(parts) + "."
    if lab.sources.subset:
        said += (
            f" **A stratified subset of {lab.sources.subset} questions, for a quick look:** fewer "
            "dialogues of records and more noise are in the threads than with all questions."
        )
        if any("talk" in one.packages[0].settings for one in threads):
            said += " Talk is asked about in whole lives, at least one per split."
    return said


def _track(threads: Threads) -> str:
    """Names the track of threads that are not as written."""
    return "" if threads.track in (None, AS_WRITTEN) else f"; {threads.track}"


def page(
    lab: Lab,
    table: Reproduction,
    *,
    about: Sequence[str],
    tables: Sequence[Table],
    drawing: str,
    notes: Sequence[str],
    used: Sequence[Threads],
) -> Page:
    """Puts a page together.

    Args:
        lab: What made or kept the rows.
        table: What is reproduced.
        about: Paragraphs above the figures.
        tables: The figures.
        drawing: The same as a drawing.
        notes: What to know when reading them.
        used: The threads that were read.
    """
    names = sorted({(f"{one.name}/{p.name}", p.sha256) for one in used for p in one.packages})
    made = Provenance(
        version=__version__,
        packages=tuple(names),
        first_date=min(lab.dates, default=None),
        last_date=max(lab.dates, default=None),
    )
    blocks: tuple[Block, ...] = (
        *tables,
        Drawing(svg=drawing, title=table.title),
        Notes(items=tuple(notes)),
        Facts(items=made.facts),
    )
    return Page(
        title=table.title,
        introduction=tuple(Paragraph(text=one) for one in about),
        sections=(Section(blocks=blocks),),
    )


def answered(lab: Lab) -> bool:
    """Returns whether a model answers, so that right and wrong answers mean something."""
    return not lab.sources.backend.stand_in


def notes(lab: Lab, table: Reproduction, *, embedder: bool = True) -> list[str]:
    """Lists what replaces what the paper used."""
    setting = _setting(lab, lab.embedder().identity if embedder else None)
    parts = {"reader"} if table.answers else set()
    parts |= {"embedder"} if embedder else set()
    said = [note.long for note in stand_ins(setting) if note.part in parts]
    names = dict.fromkeys(Spec.parse(system).name for system in ordered(table.systems))
    replaced = [words for name in names if (words := find_system(name).without_model)]
    if replaced and not lab.sources.helper:
        said.append(f"No chat model was given with --assist: {'; '.join(replaced)}.")
    return [*said, "Records and noise are ours, not the paper's: its figures are for orientation."]


def _setting(lab: Lab, embedder: str | None) -> Setting:
    return Setting(
        target=None,
        backend=lab.sources.backend.identity,
        embedder=embedder,
        writeback=True,
        stand_in=lab.sources.backend.stand_in,
    )
