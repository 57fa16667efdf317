"""Values of turns at query time: which turns are relevant, and how far their topics extend.

    cos(q, x) = (1 - sentence_weight) · cos(q, turn) + sentence_weight · max cos(q, sentence)
    own(t)   = cos(q, x) + lexical · coverage(q, t)
    near(t)  = max over windows W that contain t of  cos(q, Σ x) + lexical · coverage(q, W)
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

The value of a turn comes from its own relevance or is inherited from a nearby turn. What is
inherited shrinks at every gap where a new topic may begin, and with every word in between. The
edges of a span therefore follow from the boundary evidence; nothing is cut in advance.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tsim.vectors import Vector

Values: TypeAlias = npt.NDArray[np.float64]
# A value too small to be chosen, whose logarithm is finite.
LEAST = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanSettings:
    """Constants of the method.

    Attributes:
        sentence_weight: The share of its nearest sentence in how near a turn is; 0 if sentences are
            not embedded.
        window_turns: Turns in a window.
        rarity_power: Exponent of a term's rarity in its weight.
        name_factor: Factor applied to the weight of names.
        lexical_weight: Weight of coverage relative to the cosine, per nat of information in the
            question's words.
        information_power: Exponent of these nats; 0 weights the words of all questions equally.
        window_weight: Weight of the best window around a turn.
        relevance_power: Exponent of a turn's relevance relative to the best turn.
        fade_words: Number of words over which an inherited value falls to 1/e.
        max_anchors: Maximum number of turns from which others inherit in interleaved stretches.
        conversation_reach: Turns on either side of an anchor that can inherit from it there.
        membership_power: Exponent of the membership in the conversation there.
        own_weight: Weight of a turn's own score in the value it inherits there.
        long_turn_words: Length above which a turn's value is divided by its relative length.
        max_skipped_turns: Turns that may be missing inside a span.
        budget: Default token budget of a search.
    """

    sentence_weight: float
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
    """Returns r of each turn.

    Args:
        settings: Constants.
        own: The own score of each turn.
        windows: The score of each window, by its first turn.
    """
    near = np.full(len(own), -np.inf, dtype=np.float32)
    count = len(windows)
    for step in range(len(own) - count + 1):
        np.maximum(near[step : step + count], windows, out=near[step : step + count])
    out: Vector = own + np.float32(settings.window_weight) * near
    return out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paths:
    """The decay of values along the thread as cumulative logarithms; independent of the question.

    Attributes:
        onward: From the first turn to each turn.
        back: The same, without the words of the turn itself: from the last turn back to one, what
            is between two turns is the difference of theirs.
    """

    onward: Values
    back: Values


def paths(
    settings: SpanSettings,
    confidences: Values,
    words: npt.NDArray[np.uint32],
    *,
    before: float = 0.0,
) -> Paths:
    """Returns the decay of values along a thread, or from one of its turns on.

    Args:
        settings: Constants.
        confidences: Confidence of a new topic at the gap before each turn.
        words: Length of each turn in words.
        before: The last value of `onward` before these turns.
    """
    gaps = np.log1p(-np.clip(confidences, None, 1 - LEAST))
    fades = words / settings.fade_words
    steps = gaps - fades
    steps[:1] += before
    onward = np.cumsum(steps)
    return Paths(onward=onward, back=onward + fades)


def turn_values(settings: SpanSettings, relevant: Vector, along: Paths) -> Values:
    """Returns the value of each turn, from r of each turn and the decay along the thread."""
    best = max(float(relevant.max()), LEAST)
    start = np.divide(relevant, best, dtype=np.float64)
    np.log(np.maximum(start, LEAST, out=start), out=start)
    start *= settings.relevance_power
    return _reaching(start, along)


def spread(values: Vector, along: Paths) -> Values:
    """Returns the highest value that reaches each turn along the thread, from itself or others."""
    start = np.maximum(values, LEAST**2, dtype=np.float64)
    return _reaching(np.log(start, out=start), along)


def inherited(
    settings: SpanSettings, share: Values, membership: Values, words: Values, own: Values
) -> Values:
    """Returns the values that turns around anchors inherit along the anchors' conversations.

    Args:
        settings: Constants.
        share: r of each anchor divided by the best r.
        membership: Probability that each turn around an anchor belongs to its conversation, one row
            per anchor.
        words: The lengths of those turns.
        own: Their own scores divided by the best one.
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


def _reaching(start: Values, along: Paths) -> Values:
    """Returns the highest value that reaches each turn, from logarithms of values.

    That is max over a <= t of start[a] + onward[t] - onward[a], and over a >= t of
    start[a] + back[a] - back[t]. Nothing is NaN here, so that `fmax`, which is faster, will do.
    """
    out: Values = np.fmax.accumulate(start - along.onward)
    out += along.onward
    later = start + along.back
    np.fmax.accumulate(later[::-1], out=later[::-1])
    later -= along.back
    np.maximum(out, later, out=out)
    return np.exp(out, out=out)
