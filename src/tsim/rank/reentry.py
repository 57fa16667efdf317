"""Re-entry: where a topic comes up again, hundreds of turns away from where the question points.

A later turn may overwrite a rule without a word of the question: it shares the rare words of the
rule's episode instead. So the episode E around the best turn asks the thread in its turn:

    short(t)   = min(1, long_turn_words / words of t)
    clue(w)    = max over turns t of E that hold w of  (rarity(w) - common_nats) · short(t),  where
                 positive
    mass(t)    = short(t) · Σ clue(w) · n / (n + 1)        n: how often w occurs in t
    support(t) = mass(t) + neighbour_weight · (mass(t-2) + mass(t-1) + mass(t+1) + mass(t+2))
    reentry(t) = max_value · (1 - exp(-support(t) / saturation_nats))
    r(t)       = max(r(t), max r · reentry(t) ^ (1 / relevance_power))

Inside E, mass and support are 0. The question's own words are no clues: what they find is found
already. A word out of a long turn tells less of its topic, and a long turn shares words with
anything.
"""

import heapq
from collections.abc import Iterable, Set
from dataclasses import dataclass

import numpy as np

from tsim.index import Postings, distinct
from tsim.rank.spans import Values
from tsim.vectors import Vector

# Turns to either side that an episode reaches at most.
MAX_EXTENT = 12
# Turns to either side whose clues support a turn.
BESIDE = 2
# Clues that are followed up: a page that somebody pasted has thousands.
CLUES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ReentrySettings:
    """Constants.

    Attributes:
        min_continuation: An episode ends where it is less likely than this that the topic went on
            so far.
        common_nats: Rarity up to which a word is too common to be a clue.
        neighbour_weight: What the mass of the turns beside a turn adds to its support.
        saturation_nats: Support at which a re-entry falls short of its highest value by 1/e of it.
        max_value: The highest value of a re-entry, beside 1 for the best turn; 0 to look for none.
    """

    min_continuation: float
    common_nats: float
    neighbour_weight: float
    saturation_nats: float
    max_value: float


def episode_extent(settings: ReentrySettings, confidences: Values, anchor: int) -> range:
    """Returns the places around one that the stream seems to hold together.

    Args:
        settings: Constants.
        confidences: Of a new topic at the gap before each turn.
        anchor: The place.
    """
    # The gap before a turn is crossed on the way to the turn before it, or coming from there.
    back = 1 - confidences[max(1, anchor - MAX_EXTENT + 1) : anchor + 1][::-1]
    onward = 1 - confidences[anchor + 1 : anchor + MAX_EXTENT + 1]
    before, after = (
        int((np.cumprod(gaps) >= settings.min_continuation).sum()) for gaps in (back, onward)
    )
    return range(anchor - before, anchor + after + 1)


def clues(
    settings: ReentrySettings,
    episode: Iterable[tuple[str, float]],
    postings: Postings,
    asked: Set[str],
) -> dict[str, float]:
    """Returns the rare words of an episode that occur elsewhere too, and what each tells of it.

    The most telling `CLUES` of them; ties by the alphabet.

    Args:
        settings: Constants.
        episode: Texts of its turns, and short(t) of each.
        postings: The words of the thread.
        asked: The terms of the question.
    """
    alike: dict[float, list[str]] = {}
    for text, short in episode:
        alike.setdefault(short, []).append(text)
    parts: dict[str, float] = {}
    for short in sorted(alike):  # the same word out of a shorter turn tells more
        parts.update(dict.fromkeys(distinct("\n".join(alike[short])), short))
    rare: dict[str, float] = {}
    nats = {0: 0.0, 1: 0.0}  # by the number of turns that hold a word: elsewhere, at least one
    for term in parts.keys() - asked:
        turns = postings.document_frequency(term)
        if turns not in nats:
            nats[turns] = max(0.0, postings.rarity_at(turns) - settings.common_nats)
        if nats[turns]:
            rare[term] = nats[turns] * parts[term]
    if len(rare) <= CLUES:
        return rare
    most = heapq.nsmallest(CLUES, rare, key=lambda term: (-rare[term], term))
    return {term: rare[term] for term in most}


def reentry_values(settings: ReentrySettings, mass: Vector) -> Vector:
    """Returns the value of each turn as a re-entry, from 0 to `max_value`."""
    support = mass.copy()
    beside = np.float32(settings.neighbour_weight) * mass
    for step in range(1, BESIDE + 1):
        support[step:] += beside[:-step]
        support[:-step] += beside[step:]
    support /= np.float32(-settings.saturation_nats)
    # Not expm1: numpy computes exp faster, and what a float cannot hold is no support.
    out: Vector = np.float32(settings.max_value) * (1 - np.exp(support, out=support))
    return out
