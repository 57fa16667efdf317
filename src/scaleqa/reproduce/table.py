"""What a table is, and what all tables share."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from scaleqa.report.groups import Setting
from scaleqa.report.words import stand_ins
from scaleqa.reproduce.lab import Lab, Threads, length
from scaleqa.reproduce.page import Column, Page, text
from scaleqa.specs import Spec
from scaleqa.systems import find_system, ordered

FULL = 128_000
SYSTEM = Column(key="system", head="system", form=text)
LENGTH = Column(key="length", head="length", form=text)
INTERVAL = "Intervals are Wilson's, 95 %."


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of the paper.

    Attributes:
        name: What users write.
        title: What readers see.
        about: What it tells, in a sentence.
        systems: Names and options of its systems.
        targets: Lengths of its threads.
        answers: Whether a backend answers.
        models: Embedding models that are compared; none for the one that is used anyway.
        lay_out: Gets the figures from a lab and lays them out.
        example: How a user gets a quick look.
    """

    name: str
    title: str
    about: str
    systems: tuple[str, ...]
    targets: tuple[int, ...] = (FULL,)
    answers: bool = False
    models: tuple[str, ...] = ()
    lay_out: Callable[[Lab, "Table"], Page]
    example: str = ""


def combinations(lab: Lab, table: Table) -> Iterator[tuple[Threads, str]]:
    """Goes through all lengths and systems."""
    lab.expect(len(table.targets) * len(table.systems))
    for target in table.targets:
        threads = lab.threads(target)
        for system in table.systems:
            yield threads, system


def lengths(table: Table) -> tuple[Column, ...]:
    """A column for lengths, where there are several."""
    return (LENGTH,) if len(table.targets) > 1 else ()


def label_of(threads: Threads, table: Table, what: str) -> str:
    """Names a bar: what it is, and the length where there are several."""
    return f"{length(threads.target)} · {what}" if len(table.targets) > 1 else what


def described(lab: Lab, threads: Sequence[Threads]) -> str:
    """Says what was asked about what."""
    parts = []
    for one in {one.name: one for one in threads}.values():
        turns = sum(len(package.stream) for package in one.packages)
        many = "thread" if len(one.packages) == 1 else "threads"
        parts.append(
            f"{one.questions:,} questions about {len(one.packages)} {many} of "
            f"{length(one.target)} tokens ({turns:,} turns)"
        )
    said = "; ".join(parts) + "."
    if lab.sources.subset:
        said += (
            f" **A stratified subset of {lab.sources.subset} questions, for a quick look:** fewer "
            "dialogues of records and more noise stand in the threads than with all questions."
        )
    return said


def notes(lab: Lab, table: Table, *, embedder: bool = True) -> list[str]:
    """Names what stands in for what the paper used."""
    setting = Setting(
        target=None,
        backend=lab.sources.backend.identity,
        embedder=lab.embedder().identity if embedder else None,
        prompt="",
        writeback=True,
        records="",
    )
    parts = {"reader"} if table.answers else set()
    parts |= {"embedder"} if embedder else set()
    said = [note.long for note in stand_ins(setting) if note.part in parts]
    names = dict.fromkeys(Spec.parse(system).name for system in ordered(table.systems))
    replaced = [words for name in names if (words := find_system(name).without_model)]
    if replaced and not lab.sources.helper:
        said.append(f"No chat model was given with --assist: {'; '.join(replaced)}.")
    return [*said, "Records and noise are ours, not the paper's: its figures are for orientation."]
