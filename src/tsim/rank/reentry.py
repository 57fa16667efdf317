"""Re-entry: finds where a topic resumes, possibly hundreds of turns away from the best turn.

A later turn may change a rule without containing any word of the question. It often shares rare
words with the episode that states the rule. So the rare words of the episode E around the best turn
are searched for in the rest of the thread:

    short(t)   = min(1, long_turn_words / words of t)
    clue(w)    = max over turns t of E that contain w of  (rarity(w) - common_nats) · short(t),
                 where positive
    mass(t)    = short(t) · Σ clue(w) · n / (n + 1)        n: how often w occurs in t
    support(t) = mass(t) + neighbour_weight · (mass(t-2) + mass(t-1) + mass(t+1) + mass(t+2))
    reentry(t) = max_value · (1 - exp(-support(t) / saturation_nats))
    r(t)       = max(r(t), max r · reentry(t) ^ (1 / relevance_power))

Inside E, mass and support are 0. The question's own words are not clues: the turns that contain
them already score for the question. short(t) discounts long turns, since a word of a long turn says
less about its topic, and a long turn shares words with many others.
"""

import heapq
from collections.abc import Iterable, Set
from dataclasses import dataclass

import numpy as np

from tsim.index import Postings
from tsim.rank.spans import Values
from tsim.vectors import Vector

# Maximum number of turns of an episode on either side of its anchor.
MAX_EXTENT = 12
# Turns on either side whose clues count towards a turn's support.
BESIDE = 2
# Maximum number of clues: a pasted document has thousands of rare words.
CLUES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ReentrySettings:
    """Constants of re-entry.

    Attributes:
        min_continuation: An episode ends where the probability that its topic continues that far
            falls below this.
        common_nats: Rarity up to which a word is too common to be a clue.
        neighbour_weight: Weight of the mass of nearby turns in a turn's support.
        saturation_nats: Support at which a re-entry reaches 1 - 1/e of its maximum value.
        max_value: Maximum value of a re-entry, where the best turn has 1; 0 disables re-entry.
    """

    min_continuation: float
    common_nats: float
    neighbour_weight: float
    saturation_nats: float
    max_value: float


def episode_extent(settings: ReentrySettings, confidences: Values, anchor: int) -> range:
    """Returns the places around an anchor that seem to belong to the same topic.

    Args:
        settings: Constants.
        confidences: Confidence of a new topic at the gap before each turn.
        anchor: The place of the anchor.
    """
    # The gap before a turn lies between it and the previous turn, in both directions.
    back = 1 - confidences[max(1, anchor - MAX_EXTENT + 1) : anchor + 1][::-1]
    onward = 1 - confidences[anchor + 1 : anchor + MAX_EXTENT + 1]
    before, after = (
        int((np.cumprod(gaps) >= settings.min_continuation).sum()) for gaps in (back, onward)
    )
    return range(anchor - before, anchor + after + 1)


def clues(
    settings: ReentrySettings,
    episode: Iterable[tuple[Iterable[str], float]],
    postings: Postings,
    asked: Set[str],
) -> dict[str, float]:
    """Returns the rare words of an episode that also occur elsewhere, with clue(w) of each.

    At most `CLUES` words, those with the highest clue(w); ties are broken alphabetically.

    Args:
        settings: Constants.
        episode: The terms of its turns, each with short(t).
        postings: The words of the thread.
        asked: The terms of the question.
    """
    parts: dict[str, float] = {}
    for terms, short in sorted(episode, key=lambda turn: turn[1]):
        parts.update(dict.fromkeys(terms, short))  # shorter turns overwrite longer ones
    rare: dict[str, float] = {}
    nats = {0: 0.0, 1: 0.0}  # by document frequency; a word of one turn does not occur elsewhere
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
    # Not expm1: numpy's exp is faster, and support too small for 1 - exp is negligible.
    out: Vector = np.float32(settings.max_value) * (1 - np.exp(support, out=support))
    return out
