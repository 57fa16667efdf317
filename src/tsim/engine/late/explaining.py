"""Explanations: the anchor of each span, the words it contains and where its topic ends."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tsim.engine.late.index import ThreadIndex
from tsim.engine.late.relevance import TINY, Asked, Resumed
from tsim.engine.late.scoring import TIME_WEIGHT, Scores, masses
from tsim.engine.protocol import Found
from tsim.index import Postings
from tsim.rank import BESIDE, Values
from tsim.rank.fitted import RUN_FEATURES, TURN_FEATURES, features, relevance
from tsim.types import Evidence, SpanWhy, Term

# Words with their weights, heaviest first.
Weighted: TypeAlias = tuple[tuple[str, float], ...]


def explain(
    index: ThreadIndex,
    asked: Asked,
    scores: Scores,
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
        scores: The probabilities of runs and turns.
        worth: The value of every turn.
        spans: The places of each span, ascending.
        ids: The id of the turn at each place.
        episodes: The episode of the turn at each place.

    Returns:
        The spans with explanations, in the same order. The score of a span is its relevance.
    """
    tops = [span[int(worth[list(span)].argmax())] for span in spans]
    most, alone = max(float(worth.max()), TINY), float(scores.turns.sum())
    resumed = asked.resumed
    links = [_raised(resumed, worth, span) for span in spans]
    shared = _shared(resumed, index.postings, links) if resumed else {}
    found = []
    found_masses = masses(scores, spans)
    terms = _terms(scores, tops) if tops else []
    for span, top, link, mass, points in zip(spans, tops, links, found_masses, terms, strict=True):
        score = relevance(scores.settings, scores.presence, mass)
        similar = float(asked.similar[top])
        first, last = span[0], span[-1] + 1
        words = _heaviest(index.postings, asked.weights, span)
        again = shared.get(link, ()) if link is not None else ()
        why = SpanWhy(
            anchor=ids[top],
            dense=similar,
            lexical=sum(share for _, share in words),
            share=float(worth[top]) / most,
            relevance=score,
            alone=alone,
            terms=points,
            words=words,
            resumes=ids[resumed.anchor] if resumed and again else None,
            clues=again,
            opens=index.confidence(first) if first else 1.0,
            closes=index.confidence(last) if last < len(ids) else 1.0,
            evidence=(Evidence(term=Term.RAW, id=ids[top], similarity=similar, points=score),),
        )
        turns, shown = index.passages.shown(span, ids)
        found.append(
            Found(
                episode=episodes[top],
                turns=turns,
                shown=shown,
                score=score,
                why=why,
                relevance=score,
            )
        )
    return found


def _terms(scores: Scores, tops: Sequence[int]) -> list[Weighted]:
    """Returns what features added to the logit of turns, or of the best run that contains each."""
    observed, settings = scores.observed, scores.settings
    runs = [_best_run(scores, top) for top in tops]
    ranks = np.cumsum(observed.whole) - 1  # of candidates among all runs
    of_turns = features(TURN_FEATURES, observed.asking, observed.turns, np.array(tops))
    rows = np.array([0 if run is None else ranks[run] for run in runs], dtype=np.int64)
    some = any(run is not None for run in runs)
    of_runs = features(RUN_FEATURES, observed.asking, observed.runs, rows) if some else of_turns
    out = []
    for number, (top, run) in enumerate(zip(tops, runs, strict=True)):
        names, weights, values = (
            (TURN_FEATURES, settings.turn, of_turns)
            if run is None
            else (RUN_FEATURES, settings.run, of_runs)
        )
        points = [
            (name, weight * value)
            for name, weight, value in zip(names, weights, values[number].tolist(), strict=True)
        ]
        if observed.timely[top]:
            points.append(("time", TIME_WEIGHT * float(observed.timely[top])))
        out.append(tuple(sorted(points, key=lambda one: (-abs(one[1]), one[0]))))
    return out


def _best_run(scores: Scores, top: int) -> int | None:
    """Returns the likeliest run that contains a turn; None if the turn itself is likelier."""
    owners = scores.observed.table.ranges.overlapping(top, top + 1)
    owners = owners[scores.observed.whole[owners]]
    run = int(owners[scores.runs[owners].argmax()]) if len(owners) else -1
    return None if run < 0 or scores.turns[top] > scores.runs[run] else run


def _raised(resumed: Resumed | None, worth: Values, span: Sequence[int]) -> int | None:
    """Returns the most valuable turn of a span whose relevance was raised by clues, if any."""
    raised = [place for place in span if resumed is not None and resumed.places[place]]
    return max(raised, key=lambda place: worth[place], default=None)


def _shared(
    resumed: Resumed, postings: Postings, links: Sequence[int | None]
) -> dict[int, Weighted]:
    """Finds the clues that raised the relevance of turns, in them and in adjacent turns.

    Returns:
        For each raised turn, its clues with their weights, heaviest first.
    """
    raised = [link for link in links if link is not None]
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
