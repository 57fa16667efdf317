"""Re-entry: where a topic comes up again, hundreds of turns away from where the question points.

A later turn may overwrite a rule without a word of the question: it shares the rare words of the
rule's episode instead. So the episode E around the best turn asks the thread in its turn:

    clue(w)  = max over turns t of E that hold w of  (rarity(w) - common) · short(t),  if positive
    short(t) = min(1, long / words of t)
    mass(t)  = short(t) · Σ clue(w) · n / (n + 1)        n: how often w stands in t
    link(t)  = mass(t) + near · (mass(t-2) + mass(t-1) + mass(t+1) + mass(t+2))
    r(t)     = max(r(t), max r · (most · (1 - exp(-link(t) / enough))) ^ (1 / sharp))

Inside E, mass and link are 0. The question's own words are no clues: what they find is found
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

# Turns to either side that an episode reaches at most, and turns that speak for each other.
FAR, BESIDE = 12, 2
# Clues that are followed up: a page that somebody pasted has thousands.
CLUES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ReentrySettings:
    """Constants.

    Attributes:
        kept: An episode ends where it is less likely than this that the topic went on so far.
        common: Nats up to which a word is too common to be a clue.
        near: What the turns beside a turn add.
        enough: Nats over which the value of a link falls short of the most by 1/e.
        most: The value of the surest link beside the best turn; 0 for no links.
    """

    kept: float
    common: float
    near: float
    enough: float
    most: float


def extent(settings: ReentrySettings, confidences: Values, anchor: int) -> range:
    """Returns the places around one that the stream seems to hold together.

    Args:
        settings: Constants.
        confidences: Of a new topic at the gap before each turn.
        anchor: The place.
    """
    # The gap before a turn is crossed on the way to the turn before it, or coming from there.
    back = 1 - confidences[max(1, anchor - FAR + 1) : anchor + 1][::-1]
    onward = 1 - confidences[anchor + 1 : anchor + FAR + 1]
    before, after = (int((np.cumprod(gaps) >= settings.kept).sum()) for gaps in (back, onward))
    return range(anchor - before, anchor + after + 1)


def clues(
    settings: ReentrySettings,
    episode: Iterable[tuple[str, float]],
    postings: Postings,
    asked: Set[str],
) -> dict[str, float]:
    """Returns the rare words of an episode that stand elsewhere too, and what each tells of it.

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
        holders = postings.holders(term)
        if holders not in nats:
            nats[holders] = max(0.0, postings.rarity_of(holders) - settings.common)
        if nats[holders]:
            rare[term] = nats[holders] * parts[term]
    if len(rare) <= CLUES:
        return rare
    most = heapq.nsmallest(CLUES, rare, key=lambda term: (-rare[term], term))
    return {term: rare[term] for term in most}


def links(settings: ReentrySettings, mass: Vector) -> Vector:
    """Returns what each turn is worth as a re-entry, from 0 to `most`."""
    link = mass.copy()
    beside = np.float32(settings.near) * mass
    for step in range(1, BESIDE + 1):
        link[step:] += beside[:-step]
        link[:-step] += beside[step:]
    link /= np.float32(-settings.enough)
    # Not expm1: a library for vectors has exp, and less than a float's grain is no link.
    out: Vector = np.float32(settings.most) * (1 - np.exp(link, out=link))
    return out
