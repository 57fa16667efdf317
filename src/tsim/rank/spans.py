"""Episodes at query time: where does the question point, and how far does that topic reach?

    own(t)   = cos(q, x) + lexical · coverage(q, t)
    near(t)  = max over windows W that hold t of  cos(q, Σ x) + lexical · coverage(q, W)
    lexical  = lexical_weight · information(q) ^ information_power
    r(t)     = own(t) + window_weight · near(t)
    value(t) = max over turns a of  (r(a) / max r) ^ relevance_power · Π keep(g)   over the steps
               from a to t
    keep(g)  = (1 - confidence(g)) · exp(-words / fade_words)

Where conversations are interleaved (`tsim.segment.links`), a turn inherits along its conversation
instead:

    value(t) = max over turns a of  (r(a) / max r) ^ relevance_power
               · membership(t; a) ^ membership_power
               · exp(-words of the conversation from a to t / fade_words)
               · (1 + own_weight · own(t) / max own) / (1 + own_weight)

A turn is worth what the question finds in it, or what it inherits from a turn nearby: less with
every gap where the stream seems to turn to something else, and with every word in between. Edges
follow from the boundary evidence, and nothing is cut in advance.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tsim.vectors import Vector

Values: TypeAlias = npt.NDArray[np.float64]
# A value that no budget will ever reach; its logarithm is finite.
LEAST = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanSettings:
    """Constants of the method.

    Attributes:
        window_turns: Turns in a window.
        rarity_power: A term weighs its rarity to this power.
        name_factor: A name weighs this many times more.
        lexical_weight: Weight of coverage beside the cosine, for each nat of information in the
            question's words.
        information_power: Power of these nats; 0 to weigh the words of all questions alike.
        window_weight: Weight of the best window around a turn.
        relevance_power: How much less a weaker turn is worth: the power of its share of the best.
        fade_words: Words over which what a turn inherits falls to 1/e.
        max_anchors: Turns from which others inherit where conversations are interleaved.
        conversation_reach: Turns to either side among which a conversation is followed there.
        membership_power: How much membership in the conversation counts there.
        own_weight: How much a turn's own relevance adds to what it inherits there.
        long_turn_words: Words from which a turn's length counts against it: more say no more.
        max_skipped_turns: Turns that may be missing inside a span.
        budget: Tokens that a search returns where the caller gives no budget.
    """

    window_turns: int
    rarity_power: float
    name_factor: float
    lexical_weight: float
    information_power: float
    window_weight: float
    relevance_power: float
    fade_words: float
    max_anchors: int
    conversation_reach: int
    membership_power: float
    own_weight: float
    long_turn_words: int
    max_skipped_turns: int
    budget: int


def relevance(settings: SpanSettings, own: Vector, windows: Vector) -> Vector:
    """Returns r of each turn, from its own score and the scores of windows by their first turn."""
    near = np.full(len(own), -np.inf, dtype=np.float32)
    count = len(windows)
    for step in range(len(own) - count + 1):
        np.maximum(near[step : step + count], windows, out=near[step : step + count])
    out: Vector = own + np.float32(settings.window_weight) * near
    return out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paths:
    """What is left of a value along the thread, whatever the question: sums of logarithms.

    Attributes:
        onward: From the first turn to each.
        back: From the last turn to each, the last one first.
    """

    onward: Values
    back: Values


def paths(settings: SpanSettings, confidences: Values, words: npt.NDArray[np.uint32]) -> Paths:
    """Returns what is left of a value along a thread.

    Args:
        settings: Constants.
        confidences: Of a new topic at the gap before each turn.
        words: Length of each turn.
    """
    gaps = np.log1p(-np.clip(confidences, None, 1 - LEAST))
    fades = words / settings.fade_words
    # Backwards, the gap crossed on the way to a turn is the one behind it.
    behind = np.append(gaps[1:], 0.0) - fades
    return Paths(onward=np.cumsum(gaps - fades), back=np.cumsum(behind[::-1]))


def turn_values(settings: SpanSettings, relevant: Vector, along: Paths) -> Values:
    """Returns the value of each turn, from r of each and what is left along the thread."""
    best = max(float(relevant.max()), LEAST)
    start = settings.relevance_power * np.log(
        np.clip(relevant.astype(np.float64) / best, LEAST, None)
    )
    onward = _carried(start, along.onward)
    back = _carried(start[::-1], along.back)[::-1]
    out: Values = np.exp(np.maximum(onward, back))
    return out


def inherited(
    settings: SpanSettings, share: Values, membership: Values, words: Values, own: Values
) -> Values:
    """Returns the value of each turn around some anchors, along the anchor's conversation.

    Args:
        settings: Constants.
        share: r of each anchor over the best r.
        membership: How likely each turn around an anchor belongs to its conversation, one row per
            anchor.
        words: The lengths of those turns.
        own: Their own scores over the best one.
    """
    reach = settings.conversation_reach
    said = membership * words
    said[:, reach] = 0
    between = np.empty_like(said)
    between[:, reach:] = np.cumsum(said[:, reach:], axis=1)
    between[:, : reach + 1] = np.cumsum(said[:, reach::-1], axis=1)[:, ::-1]
    start = np.clip(share, LEAST, None) ** settings.relevance_power
    trusted = np.where(membership > LEAST, membership, 0) ** settings.membership_power
    out: Values = start[:, None] * trusted * np.exp(-between / settings.fade_words)
    out *= (1 + settings.own_weight * np.clip(own, 0, None)) / (1 + settings.own_weight)
    return out


def _carried(start: Values, along: Values) -> Values:
    """Returns max over a <= t of start[a] + along[t] - along[a], in one sweep."""
    out: Values = along + np.maximum.accumulate(start - along)
    return out
