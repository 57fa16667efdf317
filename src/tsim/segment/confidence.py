"""The probability that a new topic begins at each gap between turns. Nothing is cut here.

    z(i) = bias - sides_weight · cos(x[i-2] + x[i-1], x[i] + x[i+1])
                - drift_weight · cos(x[i-4] + … + x[i-1], x[i])
                + cue(i)
    cue(i) = user_after_user_weight · [a user speaks after a user]
           + user_weight · (½ if a user speaks, -½ if another answers a user, else 0)
           + length_weight · (ln(1 + words of turn i) - 3)
           - question_weight · [turn i-1 ends with a question mark]
    confidence(i) = 1 / (1 + exp(-z(i)))

The confidence of gap i is final once turn i + 1 has been added; until then the right side is x[i]
alone. Everything is computed row by row, in a fixed order of additions, so that confidences are
bit-identical however the turns were added.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tsim.types import USER_ROLE
from tsim.vectors import Vector, Vectors
from tsim.words import count

# Turns before and after a gap that its confidence depends on.
BEFORE, AFTER = 4, 2
# Typical logarithm of a turn's length, so that gaps of unknown length are neutral.
MEAN_LOG_WORDS = 3.0
# Log odds below which a confidence is negligible, so that the exponential cannot overflow.
MOST_ODDS = 500.0
QUESTION_MARKS = ("?", "？", "؟")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSettings:
    """Constants of the formula, and the confidence at which a turn begins an episode.

    Attributes:
        bias: Log odds of a new topic if the turns around the gap have nothing in common.
        sides_weight: Weight of the cosine of the two turns before and the two after the gap.
        drift_weight: Weight of the cosine of the next turn and the last four.
        user_after_user_weight: Added to the log odds if a user turn follows a user turn.
        user_weight: Difference in log odds between a user's turn and a reply to a user.
        length_weight: Weight of the logarithm of the turn's length.
        question_weight: Subtracted from the log odds if the previous turn asks something.
        cut_confidence: Minimum confidence at which an arriving turn begins an episode.
    """

    bias: float
    sides_weight: float
    drift_weight: float
    user_after_user_weight: float
    user_weight: float
    length_weight: float
    question_weight: float
    cut_confidence: float


@dataclass(frozen=True, slots=True)
class Cues:
    """What a gap's confidence uses of a turn besides its vector.

    Attributes:
        user: Whether the user speaks.
        words: The number of words.
        asks: Whether the turn ends with a question mark.
    """

    user: bool
    words: int
    asks: bool


def cues(role: str, text: str) -> Cues:
    """Returns the cues of a turn."""
    return Cues(role == USER_ROLE, count(text), asks(text))


def asks(text: str) -> bool:
    """Returns whether a text ends with a question mark."""
    return text.rstrip().endswith(QUESTION_MARKS)


def cue_features(turn: Cues, before: Cues | None) -> tuple[float, float, float, float]:
    """Returns the features of cue(i), in the order of its terms.

    Args:
        turn: The turn after the gap.
        before: The turn before it, if there is one.
    """
    if before is None:
        return 0.0, 0.0, 0.0, 0.0
    user = 0.5 if turn.user else -0.5 if before.user else 0.0
    length = math.log1p(turn.words) - MEAN_LOG_WORDS
    return float(turn.user and before.user), user, length, float(before.asks)


def cue_odds(settings: ConfidenceSettings, turn: Cues, before: Cues | None) -> float:
    """Returns cue(i) of the gap before a turn, given the turn before it, if there is one."""
    twice, user, length, asked = cue_features(turn, before)
    return (
        settings.user_after_user_weight * twice
        + settings.user_weight * user
        + settings.length_weight * length
        - settings.question_weight * asked
    )


def gap_cosines(vectors: Vectors, *, settled: bool = True) -> tuple[Vector, Vector]:
    """Returns the two cosines of z for the gap before each row: of the sides, and of the drift.

    Args:
        vectors: The vectors of turns, in order.
        settled: Whether to use the turn after each row; False computes each gap as it was when its
            own turn had just arrived.
    """
    near = _back(vectors, 2) + _back(vectors, 1)
    ahead = vectors + _back(vectors, -1) if settled else vectors
    far = _back(vectors, 4) + _back(vectors, 3) + near
    return cosines(near, ahead), cosines(far, vectors)


def log_odds(settings: ConfidenceSettings, vectors: Vectors, *, settled: bool = True) -> Vector:
    """Returns z of the gap before each row, without its cue; arguments as in `gap_cosines`."""
    sides, drift = gap_cosines(vectors, settled=settled)
    out: Vector = (
        settings.bias - settings.sides_weight * sides - settings.drift_weight * drift
    ).astype(np.float32)
    return out


def confidence(odds: float) -> float:
    """Returns the confidence of a gap from its log odds."""
    return 1 / (1 + math.exp(-odds)) if odds > -MOST_ODDS else 0.0


def confidences(odds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns the confidences of many gaps."""
    out: npt.NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(odds, -MOST_ODDS, None)))
    return out


def gap_confidences(
    settings: ConfidenceSettings, vectors: Vectors, *, settled: bool = True
) -> list[float]:
    """Returns the confidence of the gap before each turn but the first, without cues.

    Args:
        settings: Constants.
        vectors: The vectors of all turns of a conversation, in order.
        settled: As in `log_odds`.
    """
    odds = log_odds(settings, vectors, settled=settled)[1:]
    return [confidence(float(z)) for z in odds]


def cosines(left: Vectors, right: Vectors) -> Vector:
    """Returns the cosine of each pair of rows; 0 if one of them is all zero."""
    lengths = np.sqrt(np.vecdot(left, left) * np.vecdot(right, right))
    out: Vector = np.vecdot(left, right) / np.where(lengths == 0, 1, lengths)
    return out


def _back(vectors: Vectors, steps: int) -> Vectors:
    """Shifts rows down (up, if negative), filling with zeros."""
    out = np.zeros_like(vectors)
    if steps > 0:
        out[steps:] = vectors[:-steps]
    else:
        out[:steps] = vectors[-steps:]
    return out
