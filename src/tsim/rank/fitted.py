"""The fitted model: how likely each part of a thread holds what a question asks for.

A question is either about an episode, which is found by the text of a run of turns, or about a fact
that was mentioned in passing, which is found by a single turn. For each case there is a softmax
over its candidates, and a gate estimates which of the two cases it is:

    P(run)  = (1 - passing) · softmax over runs of   Σ weight · feature(run)
    P(turn) =      passing  · softmax over turns of  Σ weight · feature(turn)
    passing = logistic(Σ weight · feature(question))

These probabilities are relative to the thread: they assume that what was asked is there. The
relevance of a hit is a calibrated probability that it holds what was asked, wherever it was asked:

    mass(hit)      = Σ P(turn) over its turns + Σ P(run) · share of the run in the hit
    presence       = logistic(Σ weight · feature(question in the thread))
    relevance(hit) = presence · logistic(weight · log odds of mass(hit) + bias)

All weights are fitted by `scaleqa fit`, except a few that our threads cannot show and
`tsim.fitting` gives reasons for. Words count as far as the best place
of the thread covers the question (`covered`): a rare word in common may be a coincidence.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Column: TypeAlias = npt.NDArray[np.float64]

RUN_FEATURES = (
    "cosine",
    "cosine × covered",
    "cosine × question length",
    "best turn",
    "best turn × covered",
    "words",
    "words × covered",
    "words × covered²",
    "words × rarity",
    "turn score",
    "turn score²",
    "turn score × covered",
    "turn score² × covered",
    "length",
    "new topic before",
    "new topic after",
    "new topic inside",
)
TURN_FEATURES = (
    "cosine",
    "cosine × covered",
    "above neighbours",
    "run above turn",
    "words",
    "words × covered",
    "user",
    "user × covered",
    "asks",
    "length",
)
QUESTION_FEATURES = (
    "question length",
    "covered",
    "covered²",
    "rarity",
    "rarity × covered",
    "run above turn",
)
PRESENCE_FEATURES = (
    "question length",
    "covered",
    "rarity × covered",
    "run cosine",
    "turn cosine",
    "certainty",
    "thread length",
    "run cosine × thread length",
    "certainty × thread length",
    "best run",
    "run peak",
    "turn peak",
)
HIT_FEATURES = ("mass",)
# The gate is never certain: both cases always get a share of the budget.
LEAST_SHARE = 0.1
# Probabilities are kept away from 0 and 1, whose log odds are infinite.
LEAST = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedSettings:
    """The weights of the features, in the order of their names above; biases come last.

    Attributes:
        run: Weights of the features of runs.
        turn: Weights of the features of turns.
        passing: Weights of the features of questions, and the bias of the gate.
        presence: Weights of the features of questions in a thread, and the bias.
        relevance: The weight of a hit's mass, and the bias.
        min_relevance: By default, a search returns nothing if presence is below this. 1 % of the
            answered questions have hits whose relevances add up to less, so fewer are lost.
        extension: Share of a run's value that the turns around it inherit.
        reentry: Value of a turn where the best topic resumes, relative to the best run.
    """

    run: tuple[float, ...]
    turn: tuple[float, ...]
    passing: tuple[float, ...]
    presence: tuple[float, ...]
    relevance: tuple[float, ...]
    min_relevance: float
    extension: float
    reentry: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A question as a whole.

    Attributes:
        length: Logarithm of one plus the number of its distinct terms.
        covered: The share of its words' weight that the best place of the thread contains.
        rarity: The weighted mean rarity of its words, in nats.
        run_cosine: The highest cosine of a run or turn.
        turn_cosine: The highest cosine of a turn.
        thread_length: Logarithm of one plus the number of turns.
        run_peak: By how many standard deviations the highest cosine of a run exceeds their mean.
        turn_peak: The same for turns.
    """

    length: float
    covered: float
    rarity: float
    run_cosine: float
    turn_cosine: float
    thread_length: float
    run_peak: float
    turn_peak: float


def run_features(
    asking: Asking,
    *,
    cosine: Column,
    best_turn: Column,
    words: Column,
    score: Column,
    length: Column,
    edges: Sequence[Column],
) -> list[Column]:
    """Returns the features of all runs, one column each, in the order of `RUN_FEATURES`.

    Args:
        asking: The question.
        cosine: The cosine of each run's text.
        best_turn: The highest cosine among its turns.
        words: The share of the question's word weight that it contains.
        score: The highest combined score of its turns, relative to the best of the thread.
        length: The logarithm of its number of words.
        edges: Confidence of a new topic before it, after it, and at most inside it.
    """
    g = asking.covered
    square = score * score
    return [
        cosine,
        cosine * g,
        cosine * asking.length,
        best_turn,
        best_turn * g,
        words,
        words * g,
        words * g**2,
        words * asking.rarity,
        score,
        square,
        score * g,
        square * g,
        length,
        *edges,
    ]


def turn_features(
    asking: Asking,
    *,
    cosine: Column,
    run_cosine: Column,
    words: Column,
    user: Column,
    asks: Column,
    length: Column,
) -> list[Column]:
    """Returns the features of all turns, one column each, in the order of `TURN_FEATURES`.

    Args:
        asking: The question.
        cosine: The cosine of each turn.
        run_cosine: The highest cosine among the turn and the runs that contain it.
        words: The share of the question's word weight that it contains.
        user: 1 if the user speaks.
        asks: 1 if it ends with a question mark.
        length: The logarithm of its number of words.
    """
    g = asking.covered
    before, after = np.append(cosine[:1], cosine[:-1]), np.append(cosine[1:], cosine[-1:])
    return [
        cosine,
        cosine * g,
        cosine - (before + after) / 2,
        run_cosine - cosine,
        words,
        words * g,
        user,
        user * g,
        asks,
        length,
    ]


def question_features(asking: Asking) -> list[float]:
    """Returns the features of a question, in the order of `QUESTION_FEATURES`."""
    return [
        asking.length,
        asking.covered,
        asking.covered**2,
        asking.rarity,
        asking.rarity * asking.covered,
        asking.run_cosine - asking.turn_cosine,
    ]


def presence_features(asking: Asking, highest: float, best_run: float) -> list[float]:
    """Returns the features of a question in a thread, in the order of `PRESENCE_FEATURES`.

    Args:
        asking: The question.
        highest: The highest probability of a run or turn.
        best_run: The highest logit of a run; 0 if there is none.
    """
    certainty = log_odds(highest)
    return [
        asking.length,
        asking.covered,
        asking.rarity * asking.covered,
        asking.run_cosine,
        asking.turn_cosine,
        certainty,
        asking.thread_length,
        asking.run_cosine * asking.thread_length,
        certainty * asking.thread_length,
        best_run,
        asking.run_peak,
        asking.turn_peak,
    ]


def log_odds(probability: float) -> float:
    """Returns the log odds of a probability, which is kept away from 0 and 1."""
    kept = min(max(probability, LEAST), 1 - LEAST)
    return math.log(kept / (1 - kept))


def relevance(settings: FittedSettings, presence: float, mass: float) -> float:
    """Returns the relevance of a hit."""
    return presence * probability(settings.relevance, [log_odds(mass)])


def logits(weights: Sequence[float], columns: Sequence[Column]) -> Column:
    """Returns the weighted sum of features."""
    out = np.zeros(len(columns[0]))
    for weight, column in zip(weights, columns, strict=True):
        out += weight * column
    return out


def softmax(values: Column) -> Column:
    """Returns probabilities; an empty input gives an empty output."""
    if not len(values):
        return values
    powers = np.exp(values - values.max())
    out: Column = powers / powers.sum()
    return out


def probability(weights: Sequence[float], features: Sequence[float]) -> float:
    """Returns the logistic function of a weighted sum; the last weight is the bias."""
    total = float(np.dot(weights[:-1], features)) + weights[-1]
    return float(1 / (1 + np.exp(-np.clip(total, -500, 500))))


def passing(settings: FittedSettings, asking: Asking) -> float:
    """Returns the probability that a question is about a fact mentioned in passing."""
    share = probability(settings.passing, question_features(asking))
    return LEAST_SHARE + (1 - 2 * LEAST_SHARE) * share
