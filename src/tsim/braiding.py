"""The braid of interleaved conversations: which turns reply to which, a lane for each of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tsim.arguments import whole
from tsim.engine import Outline, Reply
from tsim.errors import InputError
from tsim.state import MAX_ID

# Turns of a braid.
MOST = 500
# More likely than not, so that a turn that opens a conversation is not forced into another.
LIKELY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Strand:
    """A turn of a braid.

    Attributes:
        turn: Its id.
        lane: The conversation it belongs to, as a row of a drawing; rows are used again.
        replies_to: The turn it most likely replies to, if that is likely.
        probability: How likely it does; 0 if it replies to none.
        interleaved: Whether conversations are interleaved around it.
    """

    turn: int
    lane: int
    replies_to: int | None
    probability: float
    interleaved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Braid:
    """Some consecutive turns, each in the lane of its conversation.

    Attributes:
        strands: The turns in order. Where nothing is interleaved, all are in lane 0.
        lanes: The number of lanes.
        maybe: Further replies that are possible, but less likely than the ones drawn.
        stretches: First and last turn of every interleaved part of the whole thread.
    """

    strands: tuple[Strand, ...]
    lanes: int
    maybe: tuple[Reply, ...]
    stretches: tuple[tuple[int, int], ...]


def braid(outline: Outline, replies: Sequence[Reply], turns: range) -> Braid:
    """Returns the turns of a range of ids, each in the lane of its conversation."""
    low, high = np.searchsorted(outline.turns, [turns.start, turns.stop]).tolist()
    ids = outline.turns[low:high].tolist()
    chosen = _matched(replies, {*ids})
    lanes = _lanes(ids, {turn: reply.to for turn, reply in chosen.items()})
    flags = outline.interleaved[low:high].tolist()
    strands = tuple(
        Strand(
            turn=turn,
            lane=lanes[turn] if flag else 0,
            replies_to=chosen[turn].to if turn in chosen else None,
            probability=chosen[turn].probability if turn in chosen else 0.0,
            interleaved=flag,
        )
        for turn, flag in zip(ids, flags, strict=True)
    )
    inside = {*ids}
    return Braid(
        strands=strands,
        lanes=1 + max((strand.lane for strand in strands), default=0),
        maybe=tuple(
            one
            for one in replies
            if one.turn in inside and one.to in inside and chosen.get(one.turn) != one
        ),
        stretches=_stretches(outline),
    )


def braided(first: int, last: int) -> range:
    """Returns the range of ids of a braid.

    Raises:
        InputError: It is empty or too long.
    """
    first, last = max(0, whole("first", first)), min(whole("last", last), MAX_ID)
    if not first <= last < first + MOST:
        raise InputError(f"a braid has 1 to {MOST} turns, found first={first} and last={last}")
    return range(first, last + 1)


def _matched(replies: Iterable[Reply], inside: set[int]) -> dict[int, Reply]:
    """Returns the most likely replies, such that no turn has two and none gets two."""
    chosen: dict[int, Reply] = {}
    answered: set[int] = set()
    for one in sorted(replies, key=lambda one: (-one.probability, one.turn, one.to)):
        free = one.turn not in chosen and one.to not in answered and one.turn in inside
        if free and one.probability >= LIKELY:
            chosen[one.turn] = one
            answered.add(one.to)
    return chosen


def _lanes(ids: Sequence[int], replies_to: Mapping[int, int]) -> dict[int, int]:
    """Gives every conversation the lowest lane that is free from its first to its last turn."""
    conversation: dict[int, int] = {}
    ends: dict[int, int] = {}
    for turn in ids:
        conversation[turn] = conversation.get(replies_to.get(turn, turn), turn)
        ends[conversation[turn]] = turn
    busy: list[int] = []  # the last turn of the conversation in each lane
    lanes: dict[int, int] = {}
    for turn in ids:
        root = conversation[turn]
        if root not in lanes:
            free = (lane for lane, end in enumerate(busy) if end < turn)
            lanes[root] = next(free, len(busy))
            busy[lanes[root] : lanes[root] + 1] = [ends[root]]
        lanes[turn] = lanes[root]
    return lanes


def _stretches(outline: Outline) -> tuple[tuple[int, int], ...]:
    flags = np.concatenate([[False], outline.interleaved, [False]])
    edges = np.flatnonzero(flags[1:] != flags[:-1])
    return tuple(
        (int(outline.turns[a]), int(outline.turns[b - 1]))
        for a, b in zip(edges[::2], edges[1::2], strict=True)
    )
