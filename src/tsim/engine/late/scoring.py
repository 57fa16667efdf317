"""Scoring: the probability of every run and turn, and from it the value of every turn.

The value of a turn is the probability per word that it adds to a context: that of a turn divided by
its length, or that of a run divided by the run's length, whichever is higher. Turns next to a run
inherit a share of its value, reduced at every gap where a new topic may begin, because the run may
end too early. In interleaved stretches, where runs mix conversations, turns inherit along their
conversation (`following.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tsim.engine.late.following import follow
from tsim.engine.late.index import RunTable, ThreadIndex
from tsim.engine.late.relevance import TINY, Asked
from tsim.rank import SpanSettings, Values, spread
from tsim.rank.fitted import (
    Asking,
    Column,
    FittedSettings,
    logits,
    passing,
    presence_features,
    probability,
    run_features,
    softmax,
    turn_features,
)

# Words that a turn costs in a context besides its own line: a heading, if it is alone.
OVERHEAD = 1.0
# Share of the question's word weight in the best place of the thread from which words begin to tell
# where to look, and from which they alone do. A word that occurs once counts half. Of reworded
# questions 95 % are below .2, of questions with names half are above .38 (s1).
UNTOLD, TOLD = 0.32, 0.45
# Words by which the probability of a conversation is divided in interleaved stretches.
CONVERSATION_WORDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observed:
    """A question's features in a thread.

    Attributes:
        asking: The question as a whole.
        table: The runs.
        interleaved: Which turns are in interleaved stretches.
        whole: Which runs lie outside interleaved stretches; only these have a probability.
        runs: The features of these runs.
        turns: The features of all turns.
    """

    asking: Asking
    table: RunTable
    interleaved: npt.NDArray[np.bool_]
    whole: npt.NDArray[np.bool_]
    runs: list[Column]
    turns: list[Column]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """The probabilities of a thread's parts for a question.

    Attributes:
        settings: The weights.
        observed: The features.
        passing: Probability that the question is about a fact mentioned in passing.
        run_logits: The logits of the runs outside interleaved stretches.
        turn_logits: The logits of the turns.
        runs: P(run) of every run; 0 in interleaved stretches.
        turns: P(turn) of every turn.
        question: The features of the presence of what was asked.
        presence: Probability that the thread holds what was asked.
    """

    settings: FittedSettings
    observed: Observed
    passing: float
    run_logits: Column
    turn_logits: Column
    runs: Column
    turns: Column
    question: list[float]
    presence: float


def observe(index: ThreadIndex, asked: Asked) -> Observed:
    """Computes the features of a question in a thread, which must not be empty."""
    table = index.run_table()
    similar = asked.similar.astype(np.float64)
    cosines = np.concatenate(
        [
            index.run_vectors.scores(asked.vector),
            np.vecdot(table.open_vectors, asked.vector),
        ]
    ).astype(np.float64)
    words = index.postings.run_coverage(asked.weights, table.begins, table.ends)
    share = np.clip(asked.relevant.astype(np.float64) / asked.best, 0, None)
    interleaved = index.stretches.interleaved()
    whole = ~(interleaved[table.begins] | interleaved[table.ends - 1])
    highest = similar.copy()
    np.maximum.at(highest, table.places, cosines[table.owners])
    asking = Asking(
        length=float(np.log1p(len(asked.weights))),
        covered=asked.covered,
        rarity=asked.rarity,
        run_cosine=max(float(highest.max()), asked.window_cosine),
        turn_cosine=float(similar.max()),
        thread_length=float(np.log1p(len(index))),
        run_peak=_peak(cosines),
        turn_peak=_peak(similar),
    )
    return Observed(
        asking=asking,
        table=table,
        interleaved=interleaved,
        whole=whole,
        runs=run_features(
            asking,
            cosine=cosines[whole],
            best_turn=_inside(similar, table)[whole],
            words=words[whole].astype(np.float64),
            score=_inside(share, table)[whole],
            length=np.log(table.words[whole]),
            edges=[edge[whole] for edge in table.edges],
        ),
        turns=turn_features(
            asking,
            cosine=similar,
            run_cosine=highest,
            words=asked.words.astype(np.float64),
            user=index.users.astype(np.float64),
            asks=index.asks.astype(np.float64),
            length=np.log1p(index.lengths.astype(np.float64)),
        ),
    )


def score(settings: FittedSettings, observed: Observed) -> Scores:
    """Computes the probability of every run and turn."""
    share = passing(settings, observed.asking)
    run_logits = logits(settings.run, observed.runs)
    turn_logits = logits(settings.turn, observed.turns)
    runs = np.zeros(len(observed.whole))
    runs[observed.whole] = (1 - share) * softmax(run_logits)
    turns = share * softmax(turn_logits)
    highest = max(float(turns.max()), float(runs.max(initial=0.0)))
    best_run = float(run_logits.max()) if len(run_logits) else 0.0
    question = presence_features(observed.asking, highest, best_run)
    return Scores(
        settings=settings,
        observed=observed,
        passing=share,
        run_logits=run_logits,
        turn_logits=turn_logits,
        runs=runs,
        turns=turns,
        question=question,
        presence=probability(settings.presence, question),
    )


def value(span: SpanSettings, index: ThreadIndex, asked: Asked, scores: Scores) -> Values:
    """Returns the value of every turn."""
    settings = scores.settings
    table = scores.observed.table
    density = scores.runs / (table.words + OVERHEAD * (table.ends - table.begins))
    inside = np.zeros(len(index))
    np.maximum.at(inside, table.places, density[table.owners])
    best = float(inside.max())
    worth = np.maximum(inside, settings.extension * spread(inside, index.paths()))
    if asked.resumed is not None:
        again = np.where(asked.resumed.places, asked.resumed.values, 0.0).astype(np.float64)
        resumes = np.zeros(len(index))
        np.maximum.at(resumes, table.places, _inside(again, table)[table.owners])
        worth = np.maximum(worth, settings.reentry * best * np.maximum(again, resumes))
    interleaved = scores.observed.interleaved
    if interleaved.any():
        scale = max(best, (1 - scores.passing) / CONVERSATION_WORDS)
        worth[interleaved] = scale * _followed(span, index, asked)[interleaved]
    alone: Values = scores.turns / (index.lengths + OVERHEAD)
    return np.maximum(worth, alone)


def with_words(span: SpanSettings, index: ThreadIndex, asked: Asked, worth: Values) -> Values:
    """Mixes the values with those of turns that share the question's words.

    If a place of the thread contains most of the question's words, the words tell where to look,
    and turns are valued by their combined score and by what they inherit (`following.py`). The
    fitted weights cannot decide this: the questions of our asides share no words with them.
    """
    told = float(np.clip((asked.covered - UNTOLD) / (TOLD - UNTOLD), 0, 1))
    if not told:
        return worth
    shared = _followed(span, index, asked)
    mixed: Values = (1 - told) * worth / max(float(worth.max()), TINY)
    mixed += told * shared / max(float(shared.max()), TINY)
    return mixed


def masses(scores: Scores, worth: Values, spans: Sequence[Sequence[int]]) -> list[float]:
    """Returns the probability of each of some spans that do not overlap.

    Args:
        scores: The probabilities of runs and turns.
        worth: The value of every turn; relative to the best, it stands for the probability of
            runs in interleaved stretches.
        spans: The places of each span.
    """
    table = scores.observed.table
    owner = np.full(len(scores.turns), len(spans))
    for number, span in enumerate(spans):
        owner[list(span)] = number
    out = np.zeros(len(spans) + 1)
    out += np.bincount(owner, weights=scores.turns, minlength=len(out))
    if len(scores.runs):
        each = (scores.runs / (table.ends - table.begins))[table.owners]
        out += np.bincount(owner[table.places], weights=each, minlength=len(out))
    most = max(float(worth.max()), TINY)
    for number, span in enumerate(spans):
        best = span[int(worth[list(span)].argmax())]
        if scores.observed.interleaved[best]:
            out[number] = max(out[number], (1 - scores.passing) * float(worth[best]) / most)
    return [min(float(mass), 1.0) for mass in out[: len(spans)]]


def _followed(span: SpanSettings, index: ThreadIndex, asked: Asked) -> Values:
    """Returns values by combined score and inheritance, those of long turns reduced.

    Additional words of a long turn use the budget without adding value.
    """
    return follow(span, index, asked) / np.maximum(1.0, index.lengths / span.long_turn_words)


def _peak(values: Column) -> float:
    """Returns by how many standard deviations the highest value exceeds the mean."""
    spread = float(values.std()) if len(values) else 0.0
    return float(values.max() - values.mean()) / spread if spread > TINY else 0.0


def _inside(values: Column, table: RunTable) -> Column:
    """Returns the highest value inside each run."""
    if not len(table.begins):
        return values[:0]
    pairs = np.stack([table.begins, table.ends], axis=1).ravel()
    out: Column = np.maximum.reduceat(np.append(values, -np.inf), pairs)[::2]
    return out
