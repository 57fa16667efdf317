"""Running the system of a result again, on a sample of its questions."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from scaleqa.evaluate.feed import Progress, fed_system
from scaleqa.evaluate.rows import Row
from scaleqa.leaderboard.checking import About, Finding, State
from scaleqa.leaderboard.consistency import few
from scaleqa.leaderboard.files import Submission
from scaleqa.leaderboard.schema import Result
from scaleqa.packages import Package
from scaleqa.systems import Kind, find_system, system_names
from scaleqa.systems.external import SYSTEM as EXTERNAL
from tsim.embed import Embedder

SEED = 23
# What must be the same, wherever a system runs.
SAME = ("hit", "recalled", "evidence_shown", "turns_shown", "context_tokens")


def recompute(
    submission: Submission,
    packages: Sequence[Package],
    embedder: Embedder,
    *,
    questions: int,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Finding:
    """Asks some of the questions again.

    Args:
        submission: The result with its rows, which has been checked.
        packages: The packages that it is about, rebuilt.
        embedder: For the system.
        questions: How many to ask, at most.
        seed: Chooses them.
        progress: Called with turns and questions done, and how many there are.
    """
    reason = _not_here(submission.result, packages, embedder)
    if reason:
        return Finding(about=About.SYSTEM, state=State.OPEN, words=reason)
    chosen = sample(submission.rows, questions, seed)
    known = {package.name: package for package in packages}
    total = sum(len(known[name].stream) for name in chosen) + sum(map(len, chosen.values()))
    wrong: list[str] = []
    done = 0
    for name, rows in chosen.items():

        def advance(count: int, _: int, before: int = done) -> None:
            if progress:
                progress(before + count, total)

        with fed_system(known[name], rows[0].run, embedder, progress=advance) as fed:
            for number, row in enumerate(rows):
                again, _ = fed.ask(row.place, detail=True)
                wrong += _differing(row, again)
                advance(len(known[name].stream) + number + 1, total)
        done += len(known[name].stream) + len(rows)
    if wrong:
        return Finding(about=About.SYSTEM, state=State.DIFFERS, words=few(wrong))
    words = f"run again on {sum(map(len, chosen.values()))} questions (seed {seed}), the same came"
    return Finding(about=About.SYSTEM, state=State.HOLDS, words=words)


def sample(rows: Sequence[Row], questions: int, seed: int) -> Mapping[str, list[Row]]:
    """Chooses rows by lot; returns them by package, in order."""
    count = min(questions, len(rows))
    places = np.random.default_rng(seed).choice(len(rows), size=count, replace=False)
    chosen: dict[str, list[Row]] = {}
    for place in sorted(places.tolist()):
        chosen.setdefault(rows[place].run.package, []).append(rows[place])
    return chosen


def _not_here(result: Result, packages: Sequence[Package], embedder: Embedder) -> str:
    """Says why a system cannot be run again here; nothing if it can."""
    name = result.system.name
    if not packages:
        return "its packages could not be rebuilt"
    # A result must not make a program run that whoever checks it has not installed as a system.
    declared = find_system(name) if name in system_names() else None
    if declared is None or declared is EXTERNAL or declared.kind is Kind.PRODUCT:
        return f"{name} is no system that runs in this process"
    if result.system.model:
        return f"{name} used the language model {result.system.model}"
    if result.reader and result.reader.writeback:
        return "answers became part of the thread, so that contexts depend on the model"
    if result.embedder != embedder.identity:
        return f"it used the embedder {result.embedder}, and here is {embedder.identity}"
    return ""


def _differing(row: Row, again: Row) -> Iterator[str]:
    for what in SAME:
        claimed, found = getattr(row, what), getattr(again, what)
        if claimed != found:
            yield f"{row.run.package}, {row.id}: {what} is {claimed}, run again {found}"
    if row.detail and again.detail:
        if row.detail.shown != again.detail.shown:
            yield f"{row.run.package}, {row.id}: other turns are shown when it is run again"
        if row.detail.context and row.detail.context != again.detail.context:
            yield f"{row.run.package}, {row.id}: the context is another one when it is run again"
