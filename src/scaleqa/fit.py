"""Fits the weights of the default method on one split of the benchmark, on all tracks together.

The other split is never looked at, so figures on it show how the weights hold on new data.
"""

import hashlib
import random
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeAlias

from scaleqa.datasets import open_threads
from scaleqa.packages import Package, Question
from tsim.embed import Embedder
from tsim.fitted import describe
from tsim.fitting import (
    Case,
    FittingThread,
    choose_extension,
    fit_boundary,
    fit_relevance,
    fit_weights,
)
from tsim.presets import LATE, unfitted

# Tracks on which weights are fitted, and the options of their threads.
PRESENT = {
    "as written": "",
    "other words": ",wording=other",
    "resumed": ",sequels=true",
    "braided": ",mix=braid",
    "asides": ",asides=true",
    "friends": ",talk=friends,target=0",
    "assistant talk, alone": ",talk=assistant,target=0",
    "assistant talk": ",talk=assistant",
    "long answers, alone": ",talk=answers,target=0",
    "long answers": ",talk=answers",
}
# Tracks on which half of the questions are about something that never came up.
ABSENT = {
    "as written, absent": ",absent=true",
    "other words, absent": ",wording=other,absent=true",
    "asides, absent": ",asides=true,absent=true",
}
# The weights of tracks; that of the others, which are all about talk, is 1.
WEIGHTS = {
    "as written": 2.0,
    "other words": 4.0,
    "resumed": 1.5,
    "braided": 3.0,
    "asides": 4.5,
    "assistant talk": 2.0,
}
# Tracks of which every thread is asked the questions of another one, too.
CROSSED = ("friends", "assistant talk, alone", "assistant talk", "long answers, alone")
# The messages of friends are short: which share of them is made long, and how many words these get.
LONG_MESSAGES, LONG_MESSAGE = 0.2, (80, 320)
# Tracks whose dialogues begin where a topic begins.
BOUNDED = ("as written", "asides", "friends", "assistant talk, alone")
# Tracks from which small threads are made, so that relevance holds in threads of any length.
SMALL = ("as written", "other words", "asides")
SMALL_THREADS, MOST_DIALOGUES = 120, 12
NONSENSE = 100
# Questions per track for the extension, and for everything else.
FEW, SOME = 100, 250
BUDGETS = (500, 1100)

# A question and the thread it is asked about.
Asked: TypeAlias = tuple[Package, Case]
# A range of characters: the first, and the one after the last.
Range: TypeAlias = tuple[int, int]
Progress: TypeAlias = Callable[[int, int], None]


def fit(
    embedder: Embedder,
    *,
    model: str,
    preset: str = LATE.name,
    split: str = "s1",
    target: str = "128k",
    progress: Progress = lambda done, total: None,
) -> bytes:
    """Fits all weights; returns the content of the file.

    Args:
        embedder: The model to fit for.
        model: Its name, which the file records.
        preset: The preset to fit; what it embeds, and what its vectors are like, differs.
        split: The split to fit on.
        target: The length of threads.
        progress: Called with the number of questions asked so far and the total.
    """
    constants = unfitted(preset)
    packages = {
        track: open_threads(f"scaleqa:split={split}{_with_target(options, target)}")
        for track, options in {**PRESENT, **ABSENT}.items()
    }
    settings = fit_boundary(
        constants,
        [
            (
                embedder.embed([turn.text for turn in package.stream]),
                _said(package),
                _begins(package),
            )
            for track in BOUNDED
            for package in packages[track]
        ],
    )
    threads: dict[str, FittingThread] = {}

    def opened(package: Package) -> FittingThread:
        key = hashlib.sha256(repr(package.stream).encode()).hexdigest()
        if key not in threads:
            threads[key] = FittingThread(settings, embedder, _said(package))
        return threads[key]

    asked = {
        track: _few([(package, case) for package in own for case in _cases(package, track)], SOME)
        for track, own in packages.items()
    }
    derived = {
        "friends, together": [*_together(asked["friends"])],
        "long answers, together": [*_together(asked["long answers, alone"])],
        "long messages": [*_together(_lengthened(asked["friends"]))],
    }
    learned = [*(asked[track] for track in PRESENT), *derived.values()]
    known = [pair for pairs in learned for pair in pairs]
    few = [pair for pairs in learned for pair in _few(pairs, FEW)]
    # What was asked must be there about half of the time on every track.
    some = [pair for track in (*ABSENT, *CROSSED) for pair in asked[track]]
    some += [pair for track in CROSSED for pair in _crossed(packages[track], asked[track])]
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

    examples = ((case, thread.groups(case)) for thread, case in opening(known))
    settings = fit_weights(settings, examples, WEIGHTS)
    settings = choose_extension(settings, opening(few), budget=BUDGETS[0])
    found = [
        hits for thread, case in opening(some) for hits in thread.hits(settings, case, BUDGETS)
    ]
    settings = fit_relevance(settings, found)
    used = hashlib.sha256()
    for own in packages.values():
        for package in own:
            used.update(package.sha256.encode())
    return describe(settings, model=model, fitted_on=used.hexdigest())


def _with_target(options: str, target: str) -> str:
    return options if ",target=" in options else f",target={target}{options}"


def _said(package: Package) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in package.stream]


def _begins(package: Package) -> set[int]:
    return {turns[0] for turns in package.dialogues}


def _cases(package: Package, track: str) -> list[Case]:
    return [
        Case(
            text=question.question,
            evidence=frozenset(question.evidence),
            track=track,
            parts=_parts(package, question),
        )
        for question in package.questions
    ]


def _parts(package: Package, question: Question) -> dict[int, Range]:
    """Returns where the quotes of a question are in its evidence turns."""
    if not question.quotes:
        return {}
    found = {}
    for turn, quote in zip(question.evidence, question.quotes, strict=True):
        first = package.stream[turn].text.index(quote)
        found[turn] = first, first + len(quote)
    return found


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


def _together(pairs: Iterable[Asked]) -> Iterator[Asked]:
    """Puts the sessions of every second thread, in turns, into one thread."""
    asked = [*pairs]
    packages = [*{package.name: package for package, _ in asked}.values()]
    for own in (packages[::2], packages[1::2]):
        sessions = zip_longest(*([(one.name, turns) for turns in one.dialogues] for one in own))
        order = [
            (name, turn)
            for some in sessions
            for name, turns in filter(None, some)
            for turn in turns
        ]
        said = {one.name: one.stream for one in own}
        places = {key: place for place, key in enumerate(order)}
        stream = tuple(replace(said[n][turn], id=place) for (n, turn), place in places.items())
        whole = replace(own[0], stream=stream)
        for package, case in asked:
            if package.name in said:
                yield (
                    whole,
                    replace(
                        case,
                        evidence=frozenset(places[package.name, turn] for turn in case.evidence),
                        parts={places[package.name, t]: part for t, part in case.parts.items()},
                        track=f"{case.track}, together",
                    ),
                )


def _messages(package: Package) -> set[int]:
    """Returns some turns of every speaker."""
    rng = random.Random(package.name)
    return {turn.id for turn in package.stream if rng.random() < LONG_MESSAGES}


def _lengthened(pairs: Sequence[Asked]) -> Iterator[Asked]:
    """Adds to turns what the same speaker says elsewhere, first in the same dialogue."""
    made: dict[str, tuple[Package, dict[int, Range]]] = {}
    for package, case in pairs:
        if package.name not in made:
            made[package.name] = _with_long_turns(package, _messages(package), LONG_MESSAGE)
        long, parts = made[package.name]
        track = f"{case.track}, long turns"
        yield long, replace(case, track=track, parts={t: parts[t] for t in case.evidence})


def _with_long_turns(
    package: Package, which: set[int], words: tuple[int, int]
) -> tuple[Package, dict[int, Range]]:
    """Returns a thread with long turns, and where in each turn it says what it said before.

    What holds evidence is not repeated elsewhere.
    """
    rng = random.Random(package.name)
    needed = {turn for question in package.questions for turn in question.evidence}
    spare: dict[str, list[str]] = {}
    for turn in package.stream:
        if turn.id not in needed:
            spare.setdefault(turn.role, []).append(turn.text)
    near = {turn: turns for turns in package.dialogues for turn in turns}
    stream = list(package.stream)
    said = {turn.id: (0, len(turn.text)) for turn in package.stream}
    for place in sorted(which):
        turn, least = package.stream[place], rng.randint(*words)
        parts = [
            package.stream[other].text
            for other in near.get(place, ())
            if other not in needed | {place} and package.stream[other].role == turn.role
        ]
        rng.shuffle(parts)
        while sum(len(part.split()) for part in (turn.text, *parts)) < least:
            parts.append(rng.choice(spare[turn.role]))
        before = parts[: rng.randint(0, len(parts))]
        text = "\n".join([*before, turn.text, *parts[len(before) :]])
        first = sum(len(part) + 1 for part in before)
        said[place] = first, first + len(turn.text)
        stream[place] = replace(turn, text=text)
    return replace(package, stream=tuple(stream)), said


def _crossed(packages: Sequence[Package], pairs: Sequence[Asked]) -> Iterator[Asked]:
    """Asks the questions of each thread about the next one, where they have no answer."""
    following = dict(zip([one.name for one in packages], [*packages[1:], packages[0]], strict=True))
    for package, case in pairs:
        yield following[package.name], replace(case, evidence=frozenset())


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
            track="nonsense",
        )
        for _ in range(NONSENSE)
    ]
