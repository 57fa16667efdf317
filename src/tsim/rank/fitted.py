"""The fitted model: how likely each part of a thread holds what a question asks for.

The candidates are all runs of turns and all single turns: what was asked may be the subject of an
episode, which the text of a run shows best, or a fact in a single turn, which the turns around it
would hide. One softmax covers them all:

    P(candidate) = softmax over runs and turns of  Σ weight · feature(candidate)

These probabilities are relative to the thread: they assume that what was asked is there. The
relevance of a hit is a calibrated probability that it holds what was asked, wherever it was asked:

    mass(hit)      = Σ P(turn) over its turns + Σ P(run) · share of the run in the hit
    presence       = logistic(Σ weight · feature(question in the thread))
    relevance(hit) = presence · logistic(weight · log odds of mass(hit) + bias)

All weights are fitted by `scaleqa fit`. Many features are multiplied by how much of the question's
word weight the best place of the thread contains (`covered`): if little, a rare word in common may
be a coincidence, and if much, it shows where to look.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Column: TypeAlias = npt.NDArray[np.float64]
# What features are computed from, by name: one value per candidate. One that is missing is 0.
Columns: TypeAlias = Mapping[str, npt.NDArray[np.floating]]

# A feature is the value of a column, or its product with a number about the question.
TIMES = " × "
RUN_FEATURES = (
    "run",
    "run × covered",
    "run × question length",
    "cosine",
    "cosine × covered",
    "cosine × question length",
    "words",
    "words × covered",
    "best turn's score",
    "length",
    "new topic before",
    "new topic after",
    "tells",
    "excess length",
)
TURN_FEATURES = (
    "cosine",
    "cosine × covered",
    "cosine before",
    "cosine before × covered",
    "run above turn",
    "words",
    "words × covered",
    "words × rarity",
    "words beside × covered",
    "own score",
    "inherited",
    "inherited²",
    "inherited × covered",
    "interleaved inherited",
    "interleaved inherited²",
    "interleaved inherited × covered",
    "interleaved words",
    "resumes",
    "tells",
    "tells × covered",
    "first person",
    "named speaker",
    "asks",
    "length",
    "excess length",
)
PRESENCE_FEATURES = (
    "question length",
    "covered",
    "rarity × covered",
    "run cosine",
    "turn cosine",
    "spread",
    "thread length",
    "run cosine × thread length",
    "spread × thread length",
    "best run",
    "best turn",
    "run peak",
    "turn peak",
)
HIT_FEATURES = ("mass",)
# The columns that compare vectors.
SIMILARITIES = ("cosine", "cosine before", "run above turn")
# The column that all candidates have.
COUNTED = "cosine"
# Probabilities are kept away from 0 and 1, whose log odds are infinite.
LEAST = 1e-4
# The power of flattened probabilities, chosen on s1; `flattened` computes no other.
FLATTENING = 0.75
# Log odds whose exponential does not overflow.
MOST_ODDS = 500.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedSettings:
    """The weights of the features, in the order of their names above; biases come last.

    Attributes:
        run: Weights of the features of runs.
        turn: Weights of the features of turns.
        presence: Weights of the features of questions in a thread, and the bias.
        relevance: The weight of a hit's mass, and the bias.
        min_relevance: Presence below which a search may return nothing by default: at most 1 % of
            the answered questions of any track are below it. 0: never.
        extension: Share of a run's value that the turns around it inherit.
    """

    run: tuple[float, ...]
    turn: tuple[float, ...]
    presence: tuple[float, ...]
    relevance: tuple[float, ...]
    min_relevance: float
    extension: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A question as a whole.

    Attributes:
        length: Logarithm of one plus the number of its different words.
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


def presence_features(
    asking: Asking, spread: float, best_run: float, best_turn: float
) -> list[float]:
    """Returns the features of a question in a thread, in the order of `PRESENCE_FEATURES`.

    Args:
        asking: The question.
        spread: The logarithm of the sum of the flattened probabilities: low if few candidates stand
            out, high if many are about as probable.
        best_run: The highest logit of a run; 0 if there is none.
        best_turn: The highest logit of a turn.
    """
    return [
        asking.length,
        asking.covered,
        asking.rarity * asking.covered,
        asking.run_cosine,
        asking.turn_cosine,
        spread,
        asking.thread_length,
        asking.run_cosine * asking.thread_length,
        spread * asking.thread_length,
        best_run,
        best_turn,
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


def logits(
    names: Sequence[str], weights: Sequence[float], asking: Asking, columns: Columns
) -> Column:
    """Returns the weighted sum of the features of every candidate.

    The weights of all features of a column are added up first, so that each column is read once.
    """
    total: dict[str, float] = {}
    for weight, (column, factor) in zip(weights, _parts(names, asking), strict=True):
        total[column] = total.get(column, 0.0) + weight * factor
    out = np.zeros(len(columns[COUNTED]))
    for column, weight in total.items():
        if column in columns and weight:
            out += weight * columns[column]
    return out


def features(
    names: Sequence[str], asking: Asking, columns: Columns, rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Returns the features of some candidates, one row each."""
    return np.array(
        [
            factor * columns[column][rows] if column in columns else np.zeros(len(rows))
            for column, factor in _parts(names, asking)
        ],
        dtype=np.float64,
    ).T


def trusting(settings: FittedSettings, factor: float) -> FittedSettings:
    """Returns weights with which similarity counts more, or less, than everything else."""

    def scaled(names: Sequence[str], weights: Sequence[float]) -> tuple[float, ...]:
        return tuple(
            weight * (factor if name.partition(TIMES)[0] in SIMILARITIES else 1.0)
            for name, weight in zip(names, weights, strict=True)
        )

    return replace(
        settings,
        run=scaled(RUN_FEATURES, settings.run),
        turn=scaled(TURN_FEATURES, settings.turn),
    )


def _parts(names: Sequence[str], asking: Asking) -> Iterator[tuple[str, float]]:
    """Yields the column of each feature, and the number that it is multiplied by."""
    factors = {
        "": 1.0,
        "covered": asking.covered,
        "rarity": asking.rarity,
        "question length": asking.length,
    }
    for column, factor in _divided(tuple(names)):
        yield column, factors[factor]


@cache
def _divided(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Returns the column of each feature, and the name of what it is multiplied by."""
    return tuple((column, factor) for column, _, factor in (n.partition(TIMES) for n in names))


def softmax(values: Column) -> Column:
    """Returns probabilities; an empty input gives an empty output."""
    if not len(values):
        return values
    powers: Column = values - values.max()
    np.exp(powers, out=powers)
    powers /= powers.sum()
    return powers


def flattened(chances: Column) -> Column:
    """Returns probabilities to the power of 3/4.

    The softmax is fitted to find one place. A context has room for many, and those that are less
    probable hold what was asked more often than it says.
    """
    out: Column = np.sqrt(chances)
    out *= np.sqrt(out)  # two square roots take a fraction of the time of a power
    return out


def probability(weights: Sequence[float], features: Sequence[float]) -> float:
    """Returns the logistic function of a weighted sum; the last weight is the bias."""
    total = sum(weight * feature for weight, feature in zip(weights[:-1], features, strict=True))
    return 1 / (1 + math.exp(-min(max(total + weights[-1], -MOST_ODDS), MOST_ODDS)))
