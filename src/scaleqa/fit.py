"""Fits the weights of the default method on one split of the benchmark, on all tracks together.

The other split is never looked at, so figures on it show how the weights hold on new data.
"""

import hashlib
import random
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from scaleqa.datasets import open_threads
from scaleqa.packages import Package
from tsim.embed import Embedder
from tsim.fitted import describe
from tsim.fitting import (
    Case,
    FittingThread,
    choose_factors,
    fit_boundary,
    fit_relevance,
    fit_weights,
)
from tsim.presets import UNFITTED_LATE

# Runs have no probability where conversations are interleaved: relevance is not calibrated there.
BRAIDED = "braided"
# Tracks on which weights are fitted: their options, and whether facts are mentioned in passing.
PRESENT = {
    "as written": ("", False),
    "other words": (",wording=other", False),
    "resumed": (",sequels=true", False),
    BRAIDED: (",mix=braid", False),
    "asides": (",asides=true", True),
}
# Tracks on which half of the questions are about something that never came up.
ABSENT = {
    "as written, absent": (",absent=true", False),
    "other words, absent": (",wording=other,absent=true", False),
    "asides, absent": (",asides=true,absent=true", True),
}
# Tracks whose dialogues begin where a topic begins.
BOUNDED = ("as written", "asides")
# Tracks from which small threads are made, so that relevance holds in threads of any length.
SMALL = ("as written", "other words", "asides")
SMALL_THREADS, MOST_DIALOGUES = 120, 12
NONSENSE = 100
# Questions per track for the factors, and for the relevance.
FEW, SOME = 120, 400
BUDGETS = (500, 1100)

# A question and the thread it is asked about.
Asked: TypeAlias = tuple[Package, Case]
Progress: TypeAlias = Callable[[int, int], None]


def fit(
    embedder: Embedder,
    *,
    model: str,
    split: str = "s1",
    target: str = "128k",
    progress: Progress = lambda done, total: None,
) -> bytes:
    """Fits all weights; returns the content of the file.

    Args:
        embedder: The model to fit for.
        model: Its name, which the file records.
        split: The split to fit on.
        target: The length of threads.
        progress: Called with the number of questions asked so far and the total.
    """
    packages = {
        track: (open_threads(f"scaleqa:split={split},target={target}{options}"), passing)
        for track, (options, passing) in {**PRESENT, **ABSENT}.items()
    }
    settings = fit_boundary(
        UNFITTED_LATE,
        [
            (
                embedder.embed([turn.text for turn in package.stream]),
                _said(package),
                _begins(package),
            )
            for track in BOUNDED
            for package in packages[track][0]
        ],
    )
    threads: dict[str, FittingThread] = {}

    def opened(package: Package) -> FittingThread:
        key = hashlib.sha256(repr(package.stream).encode()).hexdigest()
        if key not in threads:
            threads[key] = FittingThread(settings, embedder, _said(package))
        return threads[key]

    asked = {
        track: [(package, case) for package in own for case in _cases(package, track, passing)]
        for track, (own, passing) in packages.items()
    }
    known = [pair for track in PRESENT for pair in asked[track]]
    few = [pair for track in PRESENT for pair in _few(asked[track], FEW)]
    some = [pair for track in asked if track != BRAIDED for pair in _few(asked[track], SOME)]
    some += [pair for track in SMALL for pair in _small(asked[track], track)]
    some += [(some[-number][0], case) for number, case in enumerate(_nonsense(), 1)]
    some += [(asked["as written"][0][0], case) for case in _nonsense()]
    count, total = 0, len(known) + len(few) + len(some)

    def opening(pairs: Sequence[Asked]) -> Iterator[tuple[FittingThread, Case]]:
        nonlocal count
        for package, case in pairs:
            yield opened(package), case
            count += 1
            progress(count, total)

    settings = fit_weights(settings, [thread.example(case) for thread, case in opening(known)])
    settings = choose_factors(settings, opening(few), budget=BUDGETS[0])
    found = [
        thread.hits(settings, case, budget) for thread, case in opening(some) for budget in BUDGETS
    ]
    settings = fit_relevance(settings, found)
    used = hashlib.sha256()
    for own, _ in packages.values():
        for package in own:
            used.update(package.sha256.encode())
    return describe(settings, model=model, fitted_on=used.hexdigest())


def _said(package: Package) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in package.stream]


def _begins(package: Package) -> set[int]:
    return {turns[0] for turns in package.dialogues}


def _cases(package: Package, track: str, passing: bool) -> list[Case]:
    return [
        Case(
            text=question.question,
            evidence=frozenset(question.evidence),
            passing=passing,
            track=track,
        )
        for question in package.questions
    ]


def _few(pairs: Sequence[Asked], count: int) -> list[Asked]:
    """Returns questions spread evenly over a track."""
    step = max(1, len(pairs) // count)
    return list(pairs[::step][:count])


def _small(pairs: Sequence[Asked], track: str) -> Iterator[Asked]:
    """Makes threads of a few dialogues; what was asked is in every second one."""
    for number, (package, case) in enumerate(_few(pairs, SMALL_THREADS)):
        dialogues = package.dialogues
        own = next(n for n, turns in enumerate(dialogues) if case.evidence & {*turns})
        near = [dialogues[(own + step) % len(dialogues)] for step in range(MOST_DIALOGUES)]
        kept = near[number % 2 : 1 + number % MOST_DIALOGUES] or near[1:2]
        places = {turn: place for place, turn in enumerate(t for turns in kept for t in turns)}
        stream = [replace(package.stream[turn], id=place) for turn, place in places.items()]
        # Evidence in another dialogue, such as a sequel, would be missing.
        if number % 2 or case.evidence <= places.keys():
            evidence = frozenset(places[turn] for turn in case.evidence if turn in places)
            small = replace(package, stream=tuple(stream))
            yield small, replace(case, evidence=evidence, track=f"{track}, small")


def _nonsense() -> list[Case]:
    """Returns queries that ask for nothing: random letters."""
    rng = random.Random("nonsense")
    return [
        Case(
            text=" ".join(
                "".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 9)))
                for _ in range(rng.randint(1, 12))
            ),
            evidence=frozenset(),
            passing=False,
            track="nonsense",
        )
        for _ in range(NONSENSE)
    ]
