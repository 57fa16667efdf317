"""Pure: the two ways `tsim` has to see a new topic, and some that see nothing, against readers.

Speakers take turns, as user and model: our formula's term for a user who speaks twice stays out,
and the paper's bonus counts at every second turn.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import TypeAlias

from scaleqa.datasets.tiage import Chat
from scaleqa.stats import exact_f1, half_segment, pk, window_diff
from tsim.presets import LATE
from tsim.toolkit import Arrival, DriftRule, Vectors, cuts, gap_confidences

DRAWS = 100
STEPS = 200
ROLES = ("user", "model")

Cuts: TypeAlias = tuple[bool, ...]
Cutter: TypeAlias = Callable[["Embedded"], Cuts]
# A rule with its threshold left open.
Family: TypeAlias = Callable[[float], Cutter]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Embedded:
    """A chat, the vectors of its turns, and the boundary evidence at each gap.

    Attributes:
        chat: The chat.
        vectors: One a turn.
        causal: Confidences as of the arrival of the turn behind the gap.
        settled: Confidences with one more turn known.
    """

    chat: Chat
    vectors: Vectors
    causal: tuple[float, ...]
    settled: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmented:
    """What a rule did to the chats.

    Attributes:
        rule: Its name.
        threshold: The threshold it was run with, where it has one.
        pk: Mean Pk over chats; lower is better.
        window_diff: Mean WindowDiff over chats; lower is better.
        f1: F1 of exact cuts over all chats.
        cuts: Mean cuts per chat.
    """

    rule: str
    threshold: float | None
    pk: float
    window_diff: float
    f1: float
    cuts: float


def embedded(chat: Chat, vectors: Vectors) -> Embedded:
    """Weighs every gap of a chat, with the constants of preset `late`."""
    settings = LATE.settings.boundary
    return Embedded(
        chat=chat,
        vectors=vectors,
        causal=tuple(gap_confidences(settings, vectors, settled=False)),
        settled=tuple(gap_confidences(settings, vectors)),
    )


def late_causal(threshold: float) -> Cutter:
    """Cuts where our confidence, as of arrival, reaches the threshold."""
    return lambda one: tuple(value >= threshold for value in one.causal)


def late_settled(threshold: float) -> Cutter:
    """Cuts where our confidence, one turn later, reaches the threshold."""
    return lambda one: tuple(value >= threshold for value in one.settled)


def drift(rule: DriftRule) -> Cutter:
    """Cuts by the paper's rule."""

    def cut(one: Embedded) -> Cuts:
        said = zip(one.chat.texts, one.vectors, strict=True)
        turns = (
            Arrival(role=ROLES[n % 2], words=len(text.split()), vector=vector)
            for n, (text, vector) in enumerate(said)
        )
        return tuple(cuts(rule, turns)[1:])

    return cut


def drift_alone(threshold: float) -> Cutter:
    """Cuts by the paper's similarity and nothing else: no least and no greatest length."""
    return drift(DriftRule(min_similarity=threshold, min_tokens=0, max_tokens=10**9, min_turns=1))


def every(turns: int) -> Cutter:
    """Cuts after every so many turns."""
    return lambda one: tuple((n + 1) % turns == 0 for n in range(len(one.chat.shifts)))


def judge(rule: str, chats: Sequence[Embedded], cutter: Cutter, k: int) -> Segmented:
    """Measures the cuts of a rule."""
    wanted = [one.chat.shifts for one in chats]
    found = [cutter(one) for one in chats]
    pairs = list(zip(wanted, found, strict=True))
    return Segmented(
        rule=rule,
        threshold=None,
        pk=mean(pk(a, b, k) for a, b in pairs),
        window_diff=mean(window_diff(a, b, k) for a, b in pairs),
        f1=exact_f1(wanted, found),
        cuts=mean(sum(cuts) for cuts in found),
    )


def best_threshold(chats: Sequence[Embedded], family: Family, k: int) -> float:
    """Returns the threshold between 0 and 1 of least Pk, the lowest of equals."""
    thresholds = [step / STEPS for step in range(STEPS + 1)]
    return min(thresholds, key=lambda t: (round(judge("", chats, family(t), k).pk, 9), t))


def compare_rules(
    dev: Sequence[Embedded], test: Sequence[Embedded], seed: int
) -> tuple[int, list[Segmented]]:
    """Measures every rule on the test chats; what is tuned is tuned on the dev chats.

    Returns:
        The window of Pk and WindowDiff, and a line a rule.
    """
    k = half_segment(one.chat.shifts for one in test)
    tuned_k = half_segment(one.chat.shifts for one in dev)
    turns = sum(len(one.chat.texts) for one in dev)
    segments = sum(sum(one.chat.shifts) + 1 for one in dev)
    length = max(1, round(turns / segments))
    out = [
        judge("never", test, every(10**9), k),
        judge(f"every {length} turns", test, every(length), k),
        _by_chance(test, k, seed),
        judge("drift, official", test, drift(DriftRule()), k),
    ]
    families = (
        ("drift, threshold alone", drift_alone, DriftRule().min_similarity),
        ("late, causal", late_causal, LATE.settings.boundary.cut_confidence),
        ("late, settled", late_settled, LATE.settings.boundary.cut_confidence),
    )
    for name, family, own in families:
        tuned = best_threshold(dev, family, tuned_k)
        for rule, threshold in ((name, own), (f"{name}, tuned on dev", tuned)):
            out.append(replace(judge(rule, test, family(threshold), k), threshold=threshold))
    return k, out


def _by_chance(chats: Sequence[Embedded], k: int, seed: int) -> Segmented:
    """The mean over many draws with the true rate of shifts."""
    gaps = sum(len(one.chat.shifts) for one in chats)
    rate = sum(sum(one.chat.shifts) for one in chats) / gaps
    rng = random.Random(seed)

    def cut(one: Embedded) -> Cuts:
        return tuple(rng.random() < rate for _ in one.chat.shifts)

    drawn = [judge("", chats, cut, k) for _ in range(DRAWS)]
    return Segmented(
        rule=f"by chance, true rate (mean of {DRAWS})",
        threshold=None,
        pk=mean(one.pk for one in drawn),
        window_diff=mean(one.window_diff for one in drawn),
        f1=mean(one.f1 for one in drawn),
        cuts=mean(one.cuts for one in drawn),
    )
