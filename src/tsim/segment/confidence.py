"""The probability that a new topic begins at each gap between turns. Nothing is cut here.

    z(i) = bias - sides_weight · cos(x[i-2] + x[i-1], x[i] + x[i+1])
                - drift_weight · cos(x[i-4] + … + x[i-1], x[i])
                + user_after_user_weight · [a user speaks after a user]
    confidence(i) = 1 / (1 + exp(-z(i)))

The confidence of gap i is final once turn i + 1 has been added; until then the right side is x[i]
alone. Everything is computed row by row, in a fixed order of additions, so that confidences are
bit-identical however the turns were added.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tsim.vectors import Vector, Vectors

# Turns before and after a gap that its confidence depends on.
BEFORE, AFTER = 4, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSettings:
    """Constants of the formula, and the confidence at which a turn begins an episode.

    Attributes:
        bias: Log odds of a new topic if the turns around the gap have nothing in common.
        sides_weight: Weight of the cosine of the two turns before and the two after the gap.
        drift_weight: Weight of the cosine of the next turn and the last four.
        user_after_user_weight: Added to the log odds if a user turn follows a user turn.
        cut_confidence: Minimum confidence at which an arriving turn begins an episode.
    """

    bias: float
    sides_weight: float
    drift_weight: float
    user_after_user_weight: float
    cut_confidence: float


def log_odds(settings: ConfidenceSettings, vectors: Vectors, *, settled: bool = True) -> Vector:
    """Returns z of the gap before each row, without the term for speakers.

    Args:
        settings: Constants.
        vectors: The vectors of turns, in order.
        settled: Whether to use the turn after each row; False computes each gap as it was when its
            own turn had just arrived.
    """
    near = _back(vectors, 2) + _back(vectors, 1)
    ahead = vectors + _back(vectors, -1) if settled else vectors
    far = _back(vectors, 4) + _back(vectors, 3) + near
    out: Vector = (
        settings.bias
        - settings.sides_weight * cosines(near, ahead)
        - settings.drift_weight * cosines(far, vectors)
    ).astype(np.float32)
    return out


def confidence(settings: ConfidenceSettings, odds: float, *, user_after_user: bool) -> float:
    """Returns the confidence of a gap from its log odds without the term for speakers."""
    z = odds + (settings.user_after_user_weight if user_after_user else 0.0)
    return 1 / (1 + math.exp(-z))


def confidences(
    settings: ConfidenceSettings, odds: Vector, user_after_user: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Returns the confidences of many gaps."""
    z = odds.astype(np.float64) + settings.user_after_user_weight * user_after_user
    out: npt.NDArray[np.float64] = 1 / (1 + np.exp(-z))
    return out


def gap_confidences(
    settings: ConfidenceSettings, vectors: Vectors, *, settled: bool = True
) -> list[float]:
    """Returns the confidence of the gap before each turn but the first, ignoring speakers.

    Args:
        settings: Constants.
        vectors: The vectors of all turns of a conversation, in order.
        settled: As in `log_odds`.
    """
    odds = log_odds(settings, vectors, settled=settled)[1:]
    return [confidence(settings, float(z), user_after_user=False) for z in odds]


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
