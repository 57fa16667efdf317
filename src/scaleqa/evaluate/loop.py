"""Runs: a system is fed a thread and asked its questions, with a reader or for retrieval alone.

With a reader this is the closed loop: the reader answers each question from what was retrieved, a
judge grades the answer, and the exchange (the request as asked; the answer with its rationale)
becomes two more turns of the thread. A run that was killed continues where it stopped: exchanges
that have rows are given to the fresh system again, without asking anybody.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from scaleqa import __version__
from scaleqa.backends import ChatModel
from scaleqa.errors import DataError
from scaleqa.evaluate.feed import Fed, fed_system
from scaleqa.evaluate.grading import Grading, Reading, written_options
from scaleqa.evaluate.lock import locked
from scaleqa.evaluate.rowfile import RowFile, former_path, row_path
from scaleqa.evaluate.rows import Reader, Row, Run
from scaleqa.packages import Package, Question, StreamTurn, track_of
from scaleqa.systems import Exchange, Retrieved
from tsim.embed import Embedder

CANNOT_TELL = "I cannot tell."


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How a run goes.

    Attributes:
        system: Name and options of the system.
        reading: How questions are answered; None for retrieval alone.
        model: A language model for the system's own use.
        detail: Whether rows keep contexts and units.
        cold: Whether times include the embedding of texts: honest only without a cache.
    """

    system: str
    reading: Reading | None = None
    model: ChatModel | None = None
    detail: bool = True
    cold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Questions of a package that follow each other, and the file that their rows go to.

    Attributes:
        package: The package.
        run: What the rows are made with.
        grading: How answers are graded; None for retrieval alone.
        rows: The file; the rows that it has are those of the first of the questions.
        first: Place of the first question. It is 0 where answers are written back: whatever was
            answered before is part of the thread.
        last: The place after the last question.
    """

    package: Package
    run: Run
    grading: Grading | None
    rows: RowFile
    first: int = 0
    last: int

    @property
    def missing(self) -> int:
        """How many have no row."""
        return self.last - self.first - len(self.rows.rows)


def run_package(
    package: Package,
    settings: RunSettings,
    embedder: Embedder,
    out: Path | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Runs one system on one package and returns its rows, the old and the new.

    Raises:
        DataError: The rows that are there belong to another run, or the prompt does not fit.
    """
    run, grading, rows = check_run(package, settings, embedder, out)
    last = len(package.questions)
    ask(
        [Questions(package=package, run=run, grading=grading, rows=rows, last=last)],
        settings,
        embedder,
        progress,
    )
    return rows.rows


def ask(
    several: Sequence[Questions],
    settings: RunSettings,
    embedder: Embedder,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Asks a system all questions that have no row; it takes in their common thread once.

    Args:
        several: The questions; their packages have the same thread.
        settings: How the run goes.
        embedder: For the system.
        progress: Called with turns and questions done, and how many there are.
    """
    turns = len(several[0].package.stream)
    total = turns + sum(one.last - one.first for one in several)

    def note(done: int, _: int = 0) -> None:
        if progress:
            progress(done, total)

    missing = [one for one in several if one.missing]
    done = turns + sum(one.last - one.first for one in several if not one.missing)
    try:
        for one in several:
            one.rows.begin()
        if missing:
            with fed_system(
                missing[0].package,
                missing[0].run,
                embedder,
                model=settings.model,
                cold=settings.cold,
                progress=note,
                also=[one.package for one in several],
            ) as fed:
                for one in missing:
                    _ask_all(fed.about(one.package, one.run), settings, one, note, done)
                    done += one.last - one.first
        else:
            note(total)
    finally:
        for one in several:
            one.rows.close()


def check_run(
    package: Package, settings: RunSettings, embedder: Embedder, out: Path | None
) -> tuple[Run, Grading | None, RowFile]:
    """Says what the rows of a run will be made with, and reads those that are there.

    Raises:
        DataError: The rows that are there belong to another run, or the prompt does not fit.
    """
    grading = Grading(settings.reading, package, embedder) if settings.reading else None
    run = run_of(package, settings, embedder, grading)
    path = row_path(out, settings.system, package.name) if out else None
    former = former_path(out, settings.system, package.name) if out else None
    rows = RowFile(path, former)
    check_rows(rows, package, run)
    return run, grading, rows


def retrieve_together(
    packages: Sequence[Package],
    settings: RunSettings,
    embedder: Embedder,
    outs: Sequence[Path],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[Row]]:
    """Measures retrieval on packages that share a thread, which the system ingests once.

    Every package has rows of its own, as if it had been run alone: without a reader nothing is
    written back, so questions do not depend on each other. Each first row has the account and the
    time of the one ingest; calls of a language model during it are counted in one row only.

    Args:
        packages: The same thread and dialogues, with different questions.
        settings: How the run goes; without a reader.
        embedder: For the system.
        outs: Directory for the rows of each package, where the run continues.
        progress: Called with turns and questions done, and how many there are.

    Returns:
        The rows of each package, the old and the new.

    Raises:
        DataError: The packages cannot share a run, or the rows that are there are of another one.
    """
    check_together(packages, settings)
    with ExitStack() as stack:
        for out in {*outs}:
            stack.enter_context(locked(out))
        return _together(packages, settings, embedder, outs, progress)


def _together(
    packages: Sequence[Package],
    settings: RunSettings,
    embedder: Embedder,
    outs: Sequence[Path],
    progress: Callable[[int, int], None] | None,
) -> list[list[Row]]:
    runs = [run_of(package, settings, embedder, None) for package in packages]
    files = [
        RowFile(row_path(out, settings.system, package.name))
        for package, out in zip(packages, outs, strict=True)
    ]
    asked = list(zip(packages, runs, files, strict=True))
    for package, run, rows in asked:
        check_rows(rows, package, run)
    several = [
        Questions(package=package, run=run, grading=None, rows=rows, last=len(package.questions))
        for package, run, rows in asked
    ]
    ask(several, settings, embedder, progress)
    return [rows.rows for rows in files]


def check_together(packages: Sequence[Package], settings: RunSettings) -> None:
    """Checks that packages can share a run.

    Raises:
        DataError: They are not about the same thread, or somebody answers.
    """
    first, *others = packages
    if settings.reading:
        raise DataError("packages share a run for retrieval only; answers need runs of their own")
    evidence: dict[str, tuple[int, ...]] = {}
    for package in packages:
        for question in package.questions:
            if evidence.setdefault(question.id, question.evidence) != question.evidence:
                raise DataError(
                    f"question {question.id} has other evidence in another package; packages that "
                    "share a run are about the same thread"
                )
    for other in others:
        if (other.stream, other.dialogues) != (first.stream, first.dialogues):
            raise DataError(
                f"{other.settings.get('dataset', 'scaleqa')}/{other.name} has another thread than "
                f"{first.name}; packages that share a run are about the same thread"
            )


def run_of(
    package: Package, settings: RunSettings, embedder: Embedder, grading: Grading | None
) -> Run:
    """Says what the rows of a run are made with."""
    reader = None
    if grading:
        reading = grading.reading
        reader = Reader(
            backend=reading.backend.identity,
            prompt=f"{reading.template.name}/{reading.template.sha256[:12]}",
            writeback=reading.writeback,
            stand_in=reading.backend.stand_in,
            judge=grading.judge.identity,
            abstention=reading.template.offers_abstention or None,
        )
    return Run(
        system=settings.system,
        package=package.name,
        package_sha256=package.sha256,
        dataset=package.settings.get("dataset", "scaleqa"),
        records_sha256=package.settings.get("records_sha256"),
        target=package.settings.get("target"),
        track=track_of(package.settings),
        stream_turns=len(package.stream),
        embedder=embedder.identity,
        model=settings.model.identity if settings.model else None,
        reader=reader,
        scaleqa=__version__,
    )


def check_rows(rows: RowFile, package: Package, run: Run) -> None:
    """Checks that rows are the first ones of a run.

    Raises:
        DataError: They are of another one.
    """
    expected = [question.id for question in package.questions]
    found = [row.id for row in rows.rows]
    other = next((row.run for row in rows.rows if not run.continues(row.run)), None)
    if found != expected[: len(found)] or other:
        differs = _differing(run, other) if other else "questions"
        raise DataError(
            f"{rows.path} holds rows of another run (different: {differs}); choose another --out, "
            "or go on with what those rows were made with"
        )


def _differing(run: Run, other: Run) -> str:
    ours, theirs = run.model_dump(), other.model_dump()
    names = [name for name in ours if ours[name] != theirs[name]]
    # What rows of version 1 do not say does not count.
    known = [name for name in names if theirs[name] is not None or name in ("model", "reader")]
    return ", ".join(known) or "questions"


def _ask_all(
    fed: Fed,
    settings: RunSettings,
    asked: Questions,
    note: Callable[[int], None],
    before: int,
) -> None:
    package, grading, known = asked.package, asked.grading, asked.rows.rows
    # A reader's rationale is part of what is written back: without it a run could not continue.
    detail = settings.detail or grading is not None
    done = len(known)
    if asked.first:
        fed.calls()  # those of taking in the thread are in the first row
    for place in range(asked.first, asked.last):
        question, number = package.questions[place], place - asked.first
        if number < done:
            row = known[number]
            fed.calls()  # they are in that row
        else:
            row, found = fed.ask(place, detail=detail)
            if grading:
                row = _answered(grading, question, row, found)
            asked.rows.append(row)
        if grading and grading.reading.writeback:
            fed.observe(_exchange(package, question, row))
        note(before + number + 1)


def _answered(grading: Grading, question: Question, row: Row, found: Retrieved) -> Row:
    began = time.perf_counter()
    reply = grading.reading.backend.reply(grading.request(question, found))
    seconds = 0.0 if reply.cached else time.perf_counter() - began
    return grading.graded(row, reply, seconds)


def _exchange(package: Package, question: Question, row: Row) -> Exchange:
    first = len(package.stream) + 2 * row.place
    asked = question.question
    if question.options:
        asked = f"{asked}\n{written_options(question)}"
    answer = row.answered.answer if row.answered else None
    rationale = row.detail.rationale if row.detail else None
    said = answer or CANNOT_TELL
    text = f"{said}. {rationale}".strip() if rationale else said
    return Exchange(
        turns=(
            StreamTurn(id=first, role="user", text=asked, at=question.at),
            StreamTurn(id=first + 1, role="model", text=text, at=question.at),
        )
    )
