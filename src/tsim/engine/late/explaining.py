"""Explanations: the anchor of each span, the words it contains and where its topic ends."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tsim.engine.late.index import ThreadIndex
from tsim.engine.late.relevance import TINY, Asked, Resumed
from tsim.engine.late.scoring import Scores, masses
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
    chosen = [place for span in spans for place in span]
    worths = dict(zip(chosen, worth[chosen].tolist(), strict=True)) if chosen else {}
    tops = [max(span, key=worths.__getitem__) for span in spans]
    most, alone = max(float(worth.max()), TINY), float(scores.turns.sum())
    resumed = asked.resumed
    links = [_raised(resumed, worths, span) for span in spans]
    shared = _shared(resumed, index.postings, links) if resumed else {}
    found = []
    found_masses = masses(scores, spans)
    terms = _terms(scores, tops) if tops else []
    words_of = _words(index.postings, asked.weights, spans)
    for span, top, link, mass, points, words in zip(
        spans, tops, links, found_masses, terms, words_of, strict=True
    ):
        score = relevance(scores.settings, scores.presence, mass)
        similar = float(asked.similar[top])
        first, last = span[0], span[-1] + 1
        again = shared.get(link, ()) if link is not None else ()
        why = SpanWhy(
            anchor=ids[top],
            dense=similar,
            lexical=sum(share for _, share in words),
            share=worths[top] / most,
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
    runs = _best_runs(scores, tops)
    candidates = np.flatnonzero(observed.whole)
    of_turns = features(TURN_FEATURES, observed.asking, observed.turns, np.array(tops))
    rows = np.searchsorted(candidates, [0 if run is None else run for run in runs])
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
        if scores.timely is not None and scores.timely[0][top]:
            points.append(("time", float(scores.timely[0][top])))
        out.append(tuple(sorted(points, key=lambda one: (-abs(one[1]), one[0]))))
    return out


def _best_runs(scores: Scores, tops: Sequence[int]) -> list[int | None]:
    """Returns the likeliest run that contains each turn; None if the turn itself is likelier."""
    runs, which = scores.observed.table.ranges.containing(np.array(tops))
    chances = np.where(scores.observed.whole[runs], scores.runs[runs], -np.inf)
    best: list[int | None] = [None] * len(tops)
    highest = scores.turns[tops].tolist()
    # Of equal ones, runs are preferred to turns, and earlier runs to later ones.
    for run, place, chance in sorted(
        zip(runs.tolist(), which.tolist(), chances.tolist(), strict=True)
    ):
        if chance > highest[place] or (chance == highest[place] and best[place] is None):
            best[place], highest[place] = run, chance
    return best


def _raised(
    resumed: Resumed | None, worths: Mapping[int, float], span: Sequence[int]
) -> int | None:
    """Returns the most valuable turn of a span whose relevance was raised by clues, if any."""
    raised = [place for place in span if resumed is not None and resumed.values[place]]
    return max(raised, key=worths.__getitem__, default=None)


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


def _words(
    postings: Postings, weights: Mapping[str, float], spans: Sequence[Sequence[int]]
) -> list[Weighted]:
    """Returns the question's words that occur in each span, with their share of the weight."""
    out: list[list[tuple[str, float]]] = [[] for _ in spans]
    places = np.array([place for span in spans for place in span], dtype=np.int64)
    owners = np.repeat(np.arange(len(spans)), [len(span) for span in spans])
    for term, weight in weights.items():
        if spans and postings.document_frequency(term):
            times = np.bincount(owners, weights=postings.counts(term, places))
            for span in np.flatnonzero(times).tolist():
                out[span].append((term, weight * float(times[span] / (times[span] + 1))))
    return [_by_weight(words) for words in out]


def _by_weight(words: Iterable[tuple[str, float]]) -> Weighted:
    return tuple(sorted(words, key=lambda one: (-one[1], one[0])))
