"""Reply links between turns, for stretches in which conversations are interleaved.

In an ordinary stream a turn mostly continues the previous one. Where several conversations are
interleaved it does not, and gaps between adjacent turns carry no information. But a turn still
replies to one earlier turn, mostly of another speaker, and gets at most one reply. Each stretch of
the stream is therefore tested for whether adjacent turns are more similar than turns further apart;
if they are not, the links between turns are estimated:

    weight(j, i) = exp(link_bias + turn_weight · (cos(x_j, x_i) - unrelated_cosine)
                       + lane_weight · cos(past lane of i, future lane of j)) · P(lag j - i)

Their marginals, under the constraint that each turn replies to at most one turn and gets at most
one reply, are computed by belief propagation on that matching. A lane is the chain of turns linked
to a turn; its vector sums them up to three links away. Lanes and links are recomputed from each
other a few times. P(lag) is estimated from the stretch itself.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tsim.vectors import Vectors

Links: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
# Lags at which turns of an ordinary stream are no longer related.
APART = range(8, 15)
# Lags longer than any conversation, interleaved or not.
DISTANT = range(40, 61, 2)
# Minimum lag at which turns count as unrelated when lanes are compared.
UNRELATED_LAG = 60
# Pseudo-count of links at every lag.
LAG_PRIOR = 0.5
TINY = 1e-30


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """Constants of the model.

    Attributes:
        neighbour_margin: If the mean cosine of adjacent turns exceeds that of turns further apart
            by at least this, the stretch is not interleaved.
        reach_margin: If the mean cosine of turns within `max_lag` exceeds that of distant turns by
            more than this, there are links to find.
        max_lag: A turn replies to one of this many turns before it.
        link_bias: Log weight of a link between unrelated turns.
        turn_weight: Weight of the cosine of two turns.
        lane_weight: Weight of the cosine of the past lane of one turn and the future lane of the
            other.
        unrelated_cosine: Cosine of unrelated turns.
        lane_decay: Factor applied to a turn in a lane's vector for each link in between.
        same_speaker_bias: Log weight added to a link between turns of the same speaker.
        user_opens_bias: Log weight of a user turn that replies to none.
        other_opens_bias: Log weight of any other turn that replies to none.
        unanswered_bias: Log weight of a turn that gets no reply.
        lane_rounds: How often lanes and links are recomputed from each other.
        propagation_sweeps: Sweeps of belief propagation.
        lag_rounds: Rounds in which P(lag) is estimated.
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
    """Returns whether conversations are interleaved in a stretch.

    They are if adjacent turns are hardly more similar than turns further apart, but turns within
    `max_lag` are still more similar than distant ones. Otherwise there are no links to find.
    """
    if len(vectors) < 2 * DISTANT.stop:
        return False
    neighbours, apart = _alike(vectors, range(1, 2)), _alike(vectors, APART)
    if neighbours - apart >= settings.neighbour_margin:
        return False
    reached, distant = _alike(vectors, range(1, settings.max_lag + 1)), _alike(vectors, DISTANT)
    return reached - distant > settings.reach_margin


def replies(settings: LinkSettings, vectors: Vectors, users: Flags) -> Links:
    """Returns P[j, k - 1]: the probability that turn j of a stretch replies to turn j - k."""
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
    """Returns how likely each turn around an anchor belongs to the anchor's conversation.

    Args:
        links: One block per anchor: P of the turns from `reach` before it to `reach` after it.
        reach: Number of turns on either side.

    Returns:
        One row per anchor, from `reach` before it to `reach` after it; 1 for the anchor itself.
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
        # An earlier turn is a member if a later member replies to it.
        rows = np.minimum(reach - far + steps, 2 * reach)
        back[:, at] = (links[:, rows, steps - 1] * back[:, at + 1 : at + lags + 1]).sum(1)
    onward[:, :centre] = back[:, :centre]
    return np.minimum(onward[:, lags : lags + 2 * reach + 1], 1)


def _alike(vectors: Vectors, lags: range) -> float:
    """Returns the mean cosine of turns at the given lags."""
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
    """Returns the marginals of the matching, computed by belief propagation."""
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
    """Returns the cosine of each earlier turn's past lane and each later turn's future lane."""
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
    """Returns the prior weight of each link: 0 before the stretch, low for the same speaker."""
    earlier = np.arange(len(users))[:, None] - np.arange(1, settings.max_lag + 1)
    same = users[np.clip(earlier, 0, None)] == users[:, None]
    return np.where(earlier < 0, 0, np.where(same, math.exp(settings.same_speaker_bias), 1))
