"""Explanations: the anchor of each span, the words it contains and where its topic ends."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from tsim.engine.late.index import ThreadIndex
from tsim.engine.late.relevance import Asked, Resumed
from tsim.engine.protocol import Found
from tsim.index import Postings
from tsim.rank import BESIDE, Values
from tsim.types import Evidence, SpanWhy, Term

# Words with their weights, heaviest first.
Weighted: TypeAlias = tuple[tuple[str, float], ...]


def explain(
    index: ThreadIndex,
    asked: Asked,
    worth: Values,
    spans: Sequence[Sequence[int]],
    *,
    ids: Sequence[int],
    episodes: Sequence[int],
) -> list[Found]:
    """Explains why each span was chosen.

    Args:
        index: The thread.
        asked: The scores of every turn for the question.
        worth: The value of every turn.
        spans: The places of each span, ascending.
        ids: The id of the turn at each place.
        episodes: The episode of the turn at each place.

    Returns:
        The spans with explanations, in the same order. The score of a span is the value of its most
        relevant turn.
    """
    tops = [span[int(asked.relevant[list(span)].argmax())] for span in spans]
    resumed = asked.resumed
    shared = _shared(resumed, index.postings, tops) if resumed else {}
    found = []
    for span, top in zip(spans, tops, strict=True):
        score, similar = float(worth[top]), float(asked.similar[top])
        first, last = span[0], span[-1] + 1
        words = _heaviest(index.postings, asked.weights, span)
        again = shared.get(top, ())
        why = SpanWhy(
            anchor=ids[top],
            dense=similar,
            lexical=sum(share for _, share in words),
            share=min(1.0, max(0.0, float(asked.relevant[top]) / asked.best)),
            words=words,
            resumes=ids[resumed.anchor] if resumed and again else None,
            clues=again,
            opens=index.confidence(first) if first else 1.0,
            closes=index.confidence(last) if last < len(ids) else 1.0,
            evidence=(Evidence(term=Term.RAW, id=ids[top], similarity=similar, points=score),),
        )
        turns = tuple(ids[place] for place in span)
        found.append(Found(episode=episodes[top], turns=turns, score=score, why=why))
    return found


def _shared(resumed: Resumed, postings: Postings, tops: Sequence[int]) -> dict[int, Weighted]:
    """Finds the clues that raised the relevance of turns, in them and in adjacent turns.

    Returns:
        For each raised turn, its clues with their weights, heaviest first.
    """
    raised = [top for top in tops if resumed.places[top]]
    near = {place for top in raised for place in range(top - BESIDE, top + BESIDE + 1)}
    places = sorted(place for place in near.difference(resumed.episode) if place >= 0)
    occurrences = postings.occurrences(resumed.clues, places) if raised else []
    shared: dict[int, Weighted] = {}
    for top in raised:
        times: Counter[str] = Counter()
        for term, place, count in occurrences:
            if abs(place - top) <= BESIDE:
                times[term] += count
        shared[top] = _by_weight((w, resumed.clues[w] * n / (n + 1)) for w, n in times.items())
    return shared


def _heaviest(postings: Postings, weights: Mapping[str, float], span: Sequence[int]) -> Weighted:
    """Returns the question's words that occur in a span, with their share of the weight."""
    found = ((term, postings.term_coverage(term, weights[term], span)) for term in weights)
    return _by_weight(one for one in found if one[1])


def _by_weight(words: Iterable[tuple[str, float]]) -> Weighted:
    return tuple(sorted(words, key=lambda one: (-one[1], one[0])))
