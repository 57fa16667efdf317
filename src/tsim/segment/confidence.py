"""How likely a new topic begins at each gap between turns: evidence for edges, never a cut.

    z(i) = bias - sides_weight · cos(x[i-2] + x[i-1], x[i] + x[i+1])
                - drift_weight · cos(x[i-4] + … + x[i-1], x[i])
                + user_after_user_weight · [a user speaks after a user]
    confidence(i) = 1 / (1 + exp(-z(i)))

A gap settles one turn after it: until the turn behind it has arrived, the right side is x[i] alone.
Everything is computed row by row, in a fixed order of additions, so that a gap has the same
confidence to the last bit however the thread was fed.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tsim.vectors import Vector, Vectors

# Turns before and after a gap that its confidence looks at.
BEFORE, AFTER = 4, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSettings:
    """Constants of the formula, and the confidence at which episodes are shown as cut.

    Attributes:
        bias: Log odds of a new topic where the turns around the gap have nothing in common.
        sides_weight: How much the likeness of the two turns on either side speaks against it.
        drift_weight: How much the likeness of the next turn with the last four speaks against it.
        user_after_user_weight: How much it speaks for it that a user speaks after a user.
        cut_confidence: Confidence from which a turn is said to begin an episode as it arrives.
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
        vectors: Turns in order.
        settled: Whether the turn behind each had arrived; False gives each gap as it looked when
            its own turn came.
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
    """Returns how likely a new topic begins before each turn but the first, whoever speaks.

    Args:
        settings: Constants.
        vectors: All turns of a conversation, in order.
        settled: As in `log_odds`.
    """
    odds = log_odds(settings, vectors, settled=settled)[1:]
    return [confidence(settings, float(z), user_after_user=False) for z in odds]


def cosines(left: Vectors, right: Vectors) -> Vector:
    """Returns the cosine of each pair of rows; 0 where one of them is all zero."""
    lengths = np.sqrt(np.vecdot(left, left) * np.vecdot(right, right))
    out: Vector = np.vecdot(left, right) / np.where(lengths == 0, 1, lengths)
    return out


def _back(vectors: Vectors, steps: int) -> Vectors:
    """Moves rows down (up, if negative); zeros come in."""
    out = np.zeros_like(vectors)
    if steps > 0:
        out[steps:] = vectors[:-steps]
    else:
        out[:steps] = vectors[-steps:]
    return out
