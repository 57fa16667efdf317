"""Who answers whom, where conversations run through each other.

In an ordinary stream the next turn mostly goes on with the last one. Where several conversations
are interleaved it does not, and gaps tell nothing; but a turn still answers one earlier turn,
mostly of another speaker, and is answered at most once. So stretches of the stream are asked
whether neighbours are any more alike than turns further apart; where they are not, the links
between turns are estimated:

    weight(j, i) = exp(link_bias + turn_weight · (cos(x_j, x_i) - unrelated_cosine)
                       + lane_weight · cos(past lane of i, future lane of j)) · P(lag j - i)

and their marginals under "each answers at most one and is answered at most once" come from belief
propagation on that matching. A lane's vector gathers what is linked, three links deep; lanes and
links are made anew from each other a few times. P(lag) is learned from the stretch itself.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tsim.vectors import Vectors

Links: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
# Lags at which turns of a plain stream have nothing more to do with each other.
APART = range(8, 15)
# Lags beyond which no conversation reaches, interleaved or not.
DISTANT = range(40, 61, 2)
# Lag from which turns count as unrelated when lanes are compared.
UNRELATED_LAG = 60
# Links that every lag is taken to have had before any is seen.
LAG_PRIOR = 0.5
TINY = 1e-30


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """Constants of the model.

    Attributes:
        neighbour_margin: If neighbours are more alike than turns further apart by this much, the
            stretch is a plain one.
        reach_margin: If turns in reach of each other are more alike than distant ones by more than
            this, there are links to be found.
        max_lag: A turn answers one of so many turns before it.
        link_bias: Log weight of a link between turns that have nothing to do with each other.
        turn_weight: Weight of the likeness of two turns.
        lane_weight: Weight of the likeness of what leads to one and what follows from the other.
        unrelated_cosine: Cosine of turns that have nothing to do with each other.
        lane_decay: What a lane's vector keeps of a turn for each link between.
        same_speaker_bias: Log weight added to a link between turns of the same speaker.
        user_opens_bias: Log weight of a user's turn that answers none.
        other_opens_bias: The same for anybody else's.
        unanswered_bias: Log weight of a turn that is not answered.
        lane_rounds: How often lanes and links are made from each other.
        propagation_sweeps: Sweeps of belief propagation.
        lag_rounds: Rounds in which P(lag) is learned.
    """

    neighbour_margin: float
    reach_margin: float
    max_lag: int
    link_bias: float
    turn_weight: float
    lane_weight: float
    unrelated_cosine: float
    lane_decay: float
    same_speaker_bias: float
    user_opens_bias: float
    other_opens_bias: float
    unanswered_bias: float
    lane_rounds: int
    propagation_sweeps: int
    lag_rounds: int


def interleaved(settings: LinkSettings, vectors: Vectors) -> bool:
    """Tells whether conversations run through each other in a stretch.

    Neighbours are then hardly more alike than turns further apart, but turns in reach of each other
    are still more alike than those that are not: otherwise there is nothing to follow.
    """
    if len(vectors) < 2 * DISTANT.stop:
        return False
    neighbours, apart = _alike(vectors, range(1, 2)), _alike(vectors, APART)
    reached, distant = _alike(vectors, range(1, settings.max_lag + 1)), _alike(vectors, DISTANT)
    plain = neighbours - apart >= settings.neighbour_margin
    return not plain and reached - distant > settings.reach_margin


def replies(settings: LinkSettings, vectors: Vectors, users: Flags) -> Links:
    """Returns P[j, k - 1]: how likely turn j of a stretch answers the turn k before it."""
    gram = (vectors @ vectors.T).astype(np.float64)
    possible = _possible(settings, users)
    opens = np.exp(np.where(users, settings.user_opens_bias, settings.other_opens_bias))
    alike = _band(gram, settings.max_lag) - settings.unrelated_cosine
    score = (settings.turn_weight + settings.lane_weight / 2) * alike
    lags = _lag_prior(settings, score, possible, opens)
    for _ in range(settings.lane_rounds):
        found = _matched(settings, score, possible, opens, lags)
        lanes_alike = _lanes_alike(settings, gram, found)
        score = settings.turn_weight * alike + settings.lane_weight * lanes_alike
    return _matched(settings, score, possible, opens, lags)


def membership(links: Links, reach: int) -> Links:
    """Returns how likely each turn around some anchors belongs to the anchor's conversation.

    Args:
        links: One block for each anchor: P of the turns from `reach` before it to `reach` after.
        reach: Turns to either side.

    Returns:
        One row for each anchor, from `reach` before it to `reach` after; 1 for itself.
    """
    anchors, _, lags = links.shape
    centre = reach + lags
    onward = np.zeros((anchors, 2 * centre + 1))
    onward[:, centre] = 1
    back = onward.copy()
    steps = np.arange(1, lags + 1)
    for far in range(1, reach + 1):
        at = centre + far
        onward[:, at] = (links[:, reach + far] * onward[:, at - lags : at][:, ::-1]).sum(1)
        at = centre - far
        # A turn before is a member if a member after it answers it.
        rows = np.minimum(reach - far + steps, 2 * reach)
        back[:, at] = (links[:, rows, steps - 1] * back[:, at + 1 : at + lags + 1]).sum(1)
    onward[:, :centre] = back[:, :centre]
    return np.minimum(onward[:, lags : lags + 2 * reach + 1], 1)


def _alike(vectors: Vectors, lags: range) -> float:
    """Mean cosine of turns at some lags."""
    means = [float(np.vecdot(vectors[lag:], vectors[:-lag]).mean()) for lag in lags]
    return sum(means) / len(means)


def _lag_prior(
    settings: LinkSettings, score: Links, possible: Links, opens: Links
) -> npt.NDArray[np.float64]:
    lags = np.full(settings.max_lag, 1 / settings.max_lag)
    for _ in range(settings.lag_rounds):
        lags = _matched(settings, score, possible, opens, lags).sum(0) + LAG_PRIOR
        lags /= lags.sum()
    return lags


def _matched(
    settings: LinkSettings,
    score: Links,
    possible: Links,
    opens: Links,
    lags: npt.NDArray[np.float64],
) -> Links:
    """Marginals of the matching, by belief propagation between turns and those they answer."""
    weight = possible * np.exp(score + settings.link_bias) * lags
    count, width = weight.shape
    earlier = np.clip(np.arange(count)[:, None] - np.arange(1, width + 1), 0, None)
    unanswered = math.exp(settings.unanswered_bias)
    up = down = weight
    for _ in range(settings.propagation_sweeps):
        down = weight / (opens[:, None] + up.sum(1, keepdims=True) - up)
        asked = np.zeros(count)
        for lag in range(1, min(width, count - 1) + 1):
            asked[: count - lag] += down[lag:, lag - 1]
        up = weight / (unanswered + np.maximum(asked[earlier] - down, 0))
    odds = down * up / np.maximum(weight, TINY)
    return np.where(weight > 0, odds / (1 + odds), 0)


def _lanes_alike(settings: LinkSettings, gram: Links, found: Links) -> Links:
    """Cosine of what leads to each earlier turn and what follows from each later one."""
    count, width = found.shape
    linked = np.zeros((count, count))
    for lag in range(1, min(width, count - 1) + 1):
        later = np.arange(lag, count)
        linked[later, later - lag] = settings.lane_decay * found[lag:, lag - 1]
    same = np.eye(count)
    past = same + linked @ (same + linked @ (same + linked))
    led, followed = past @ gram, past.T @ gram
    across = led @ past
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->i", led, past), TINY))
    others = np.sqrt(np.maximum(np.einsum("ij,ij->i", followed, past.T), TINY))
    across /= lengths[:, None] * others[None, :]
    apart = np.triu(np.ones((count, count), dtype=np.bool_), min(UNRELATED_LAG, count // 2))
    return _band(across, width) - float(across[apart].mean())


def _band(square: Links, width: int) -> Links:
    """Returns B[j, k - 1] = square[j - k, j]."""
    out = np.zeros((len(square), width))
    for lag in range(1, min(width, len(square) - 1) + 1):
        out[lag:, lag - 1] = np.diagonal(square, lag)
    return out


def _possible(settings: LinkSettings, users: Flags) -> Links:
    """A turn answers an earlier one, seldom one of the same speaker."""
    earlier = np.arange(len(users))[:, None] - np.arange(1, settings.max_lag + 1)
    same = users[np.clip(earlier, 0, None)] == users[:, None]
    return np.where(earlier < 0, 0, np.where(same, math.exp(settings.same_speaker_bias), 1))
