"""Relevance: a question against every turn, and where the topic of the best turn comes up again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tsim.engine.late.index import ThreadIndex
from tsim.engine.protocol import Query
from tsim.rank import (
    FAR,
    ReentrySettings,
    SpanSettings,
    clues,
    extent,
    links,
    relevance,
    told,
    weigh,
)
from tsim.vectors import Vector

TINY = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resumed:
    """Where the topic of the best turn comes up again.

    Attributes:
        anchor: The place of that turn.
        episode: The places of its topic around it.
        clues: The rare words of its episode, with what each tells.
        places: For each turn, whether it is more relevant for them than by itself.
    """

    anchor: int
    episode: list[int]
    clues: dict[str, float]
    places: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """A question against every turn.

    Attributes:
        similar: The cosine of each turn.
        weights: The weight of each of the question's words.
        own: Cosine and words together.
        relevant: The same with the best window around each turn.
        best: The highest of these.
        resumed: Where the topic comes up again, once that was looked for.
    """

    similar: Vector
    weights: dict[str, float]
    own: Vector
    relevant: Vector
    best: float
    resumed: Resumed | None = None


def ask(settings: SpanSettings, index: ThreadIndex, query: Query) -> Asked:
    """Scores every turn of a thread that has turns."""
    width = min(settings.width, len(index))
    postings = index.postings
    similar = index.vectors.scores(query.vector)
    weights = weigh(query.text, postings, power=settings.power, name=settings.name)
    share = np.float32(settings.words * told(weights, postings) ** settings.telling)
    own = similar + share * postings.coverage(weights)
    windows = index.windows.scores(similar) + share * postings.coverage(weights, width)
    relevant = relevance(settings, own, windows)
    if relevant.max() <= 0:  # no turn is relevant, but some are still less so than others
        relevant -= relevant.min()
    top = max(float(relevant.max()), TINY)
    return Asked(similar=similar, weights=weights, own=own, relevant=relevant, best=top)


def resume(
    settings: ReentrySettings,
    span: SpanSettings,
    index: ThreadIndex,
    asked: Asked,
    texts_at: Callable[[Sequence[int]], Sequence[str]],
) -> Asked:
    """Raises the relevance of turns where the topic of the best turn comes up again.

    Args:
        settings: Constants of re-entry.
        span: Constants of values and lengths.
        index: The thread.
        asked: The question against every turn.
        texts_at: Returns the texts of the turns at some places.
    """
    if not settings.most:
        return asked
    anchor = int(asked.relevant.argmax())
    episode = _episode(settings, span.reach, index, anchor)
    short = np.minimum(1, span.long / index.lengths.astype(np.float32))
    texts = zip(texts_at(episode), (float(short[place]) for place in episode), strict=True)
    found = clues(settings, texts, index.postings, asked.weights.keys())
    mass = index.postings.coverage(found) * short
    mass[episode] = 0
    link = links(settings, mass)
    link[episode] = 0
    raised = asked.best * link ** (1 / span.sharp)
    # Relevance may be negative: without a link, 0 is no reason to come along.
    again = (link > 0) & (raised > asked.relevant)
    return replace(
        asked,
        relevant=np.where(again, raised, asked.relevant),
        resumed=Resumed(anchor=anchor, episode=episode, clues=found, places=again),
    )


def _episode(settings: ReentrySettings, reach: int, index: ThreadIndex, anchor: int) -> list[int]:
    """The places that seem to belong to the topic of a turn, in order."""
    if not index.stretches.mixed_at(anchor):
        low = max(0, anchor - FAR)
        near = index.confidences(low, anchor + FAR + 1)
        return [low + place for place in extent(settings, near, anchor - low)]
    company = index.stretches.company([anchor], reach)
    places: list[int] = company.places[company.member >= settings.kept].tolist()
    return places
