"""Relevance: the score of every turn for a question, and where the best turn's topic resumes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from tsim.engine.late.index import ThreadIndex
from tsim.engine.protocol import Query
from tsim.rank import (
    MAX_EXTENT,
    Naming,
    ReentrySettings,
    SpanSettings,
    clues,
    episode_extent,
    information,
    name,
    reentry_values,
    relevance,
    term_weights,
)
from tsim.rank.when import Times, preference, stretches
from tsim.vectors import Vector

TINY = 1e-9
# The first and last second that a datetime can have, roughly.
YEARS = (-62_135_000_000, 253_402_000_000)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resumed:
    """Where the topic of the best turn resumes.

    Attributes:
        anchor: The place of the best turn.
        episode: The places of the episode around it.
        clues: The rare words of that episode, with their weights.
        values: The value of each turn as a re-entry; 0 if clues did not raise its relevance.
    """

    anchor: int
    episode: list[int]
    clues: dict[str, float]
    values: Vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """The scores of every turn for a question.

    Attributes:
        vector: The embedding of the question.
        eligible: Which turns may be returned. Others have no score: `own` and `relevant` are
            minus infinity.
        timely: How well the time of each turn suits the time that the question is about, from 0 to
            1; None if no times are known.
        naming: Whom the question names.
        similar: How near each turn is to the question: its cosine, and in part that of its nearest
            sentence.
        weights: The weight of each of the question's words.
        words: The share of the words' weight that each turn contains.
        own: Cosine and words combined.
        relevant: The same, combined with the best window around each turn.
        best: The highest value of `relevant`.
        covered: The share of the words' weight that the best window contains.
        rarity: The weighted mean rarity of the words, in nats.
        window_cosine: The highest cosine of a window.
        resumed: Where the topic resumes, once computed.
    """

    vector: Vector
    eligible: npt.NDArray[np.bool_]
    timely: Times | None
    naming: Naming
    similar: Vector
    weights: dict[str, float]
    words: Vector
    own: Vector
    relevant: Vector
    best: float
    covered: float
    rarity: float
    window_cosine: float
    resumed: Resumed | None = None


def ask(
    settings: SpanSettings, index: ThreadIndex, query: Query, embed: Callable[[str], Vector]
) -> Asked:
    """Scores every turn of a thread; at least one must be eligible."""
    eligible = index.attributes.eligible(query.only)
    width = min(settings.window_turns, len(index))
    postings = index.postings
    speakers = index.speakers
    naming = name(query.text, speakers.names(), speakers.called(), speakers.model)
    vector = embed(naming.text)
    cosines = index.vectors.scanning(vector)  # meanwhile, whatever does not depend on them
    weights = term_weights(
        naming.text,
        postings,
        rarity_power=settings.rarity_power,
        name_factor=settings.name_factor,
    )
    nats = information(weights, postings)
    lexical = np.float32(settings.lexical_weight * nats**settings.information_power)
    words, covered = postings.coverage(weights), postings.coverage(weights, width)
    timely = _timely(index, query)
    similar = index.sentences.raised(cosines(), vector, eligible, settings.sentence_weight)
    own = similar + lexical * words
    near = index.windows.scores(similar)
    relevant = relevance(settings, own, near + lexical * covered)
    everything = bool(eligible.all())
    if not everything:
        own[~eligible] = relevant[~eligible] = -np.inf
    if relevant.max() <= 0:  # no turn is relevant; shift the scores to keep their order
        relevant -= relevant[eligible].min()
    top = max(float(relevant.max()), TINY)
    if not everything:  # only windows with an eligible turn
        passed = np.append(0, np.cumsum(eligible))
        inside = passed[width:] > passed[:-width]
        near, covered = near[inside], covered[inside]
    return Asked(
        vector=vector,
        eligible=eligible,
        timely=timely,
        naming=naming,
        similar=similar,
        weights=weights,
        words=words,
        own=own,
        relevant=relevant,
        best=top,
        covered=float(covered.max()),
        rarity=nats,
        window_cosine=float(near.max()),
    )


def _timely(index: ThreadIndex, query: Query) -> Times | None:
    times = index.attributes.times
    known = times[np.isfinite(times)] if index.dated else times[:0]
    if not len(known):
        return None
    first, last = np.clip([known.min(), known.max()], *YEARS).tolist()
    now = query.now or datetime.fromtimestamp(last, UTC)
    return preference(stretches(query.text, now=now, first=first, last=last), times)


def resume(
    settings: ReentrySettings,
    span: SpanSettings,
    index: ThreadIndex,
    asked: Asked,
) -> Asked:
    """Raises the relevance of turns where the topic of the best turn resumes.

    Args:
        settings: Constants of re-entry.
        span: Constants of values and lengths.
        index: The thread.
        asked: The scores of every turn for the question.
    """
    if not settings.max_value:
        return asked
    anchor = int(asked.relevant.argmax())
    episode = _episode(settings, span.conversation_reach, index, anchor)
    short = index.short()
    said = [place for place in episode if asked.eligible[place]]
    terms = [(index.postings.terms(place), float(short[place])) for place in said]
    found = clues(settings, terms, index.postings, asked.weights.keys())
    mass = index.postings.coverage(found) * short
    mass[episode] = 0
    reentry = reentry_values(settings, mass)
    reentry[episode] = 0
    # Relevance may be negative: where there is no re-entry, 0 must not replace it.
    near = np.flatnonzero((reentry > 0) & asked.eligible)
    raised = asked.best * reentry[near] ** (1 / span.relevance_power)
    higher = raised > asked.relevant[near]
    again = near[higher]
    relevant, values = asked.relevant.copy(), np.zeros_like(reentry)
    relevant[again], values[again] = raised[higher], reentry[again]
    return replace(
        asked,
        relevant=relevant,
        resumed=Resumed(anchor=anchor, episode=episode, clues=found, values=values),
    )


def _episode(settings: ReentrySettings, reach: int, index: ThreadIndex, anchor: int) -> list[int]:
    """Returns the places that seem to belong to the topic of a turn, in order."""
    if not index.stretches.interleaved_at(anchor):
        low = max(0, anchor - MAX_EXTENT)
        near = index.gaps()[low : anchor + MAX_EXTENT + 1]
        return [low + place for place in episode_extent(settings, near, anchor - low)]
    around = index.stretches.neighbourhood([anchor], reach)
    places: list[int] = around.places[around.membership >= settings.min_continuation].tolist()
    return places
