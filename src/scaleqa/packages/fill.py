"""Filling threads: noise in seeded order, up to the target."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.errors import DataError
from scaleqa.noise import Dialogue


@dataclass(frozen=True, slots=True, kw_only=True)
class Filler:
    """What fills threads.

    Attributes:
        noise: Dialogues that nobody asks about.
        reserve: Further dialogues, used only if all noise is not enough.
    """

    noise: Sequence[Dialogue]
    reserve: Sequence[Dialogue] = ()


def fill_up(filler: Filler, wanted: int, seed: int, batch: int | str) -> list[Dialogue]:
    """Takes noise in seeded order up to the target, never beyond it; then from the reserve.

    Args:
        filler: The dialogues to take from.
        wanted: How many tokens there is room for.
        seed: Seed for the order.
        batch: The number or name of the thread; each has an order of its own.

    Raises:
        DataError: There is too little of both.
    """
    pool = _shuffled(filler.noise, f"noise:{seed}:{batch}")
    chosen, left = _take(pool, wanted)
    if len(chosen) == len(pool) and filler.reserve:
        more, left = _take(_shuffled(filler.reserve, f"reserve:{seed}:{batch}"), left)
        chosen += more
        pool += filler.reserve
    smallest = min((dialogue.tokens for dialogue in pool), default=0)
    if left > max(smallest, wanted // 100) and len(chosen) == len(pool):
        have = sum(dialogue.tokens for dialogue in pool)
        raise DataError(
            f"batch {batch} needs {wanted} tokens of noise and the pool has {have}: {left} are "
            "missing; give a larger pool with --noise, or choose a shorter target"
        )
    return chosen


def _shuffled(dialogues: Sequence[Dialogue], seed: str) -> list[Dialogue]:
    order = sorted(dialogues, key=lambda dialogue: dialogue.id)
    random.Random(seed).shuffle(order)
    return order


def _take(order: Sequence[Dialogue], wanted: int) -> tuple[list[Dialogue], int]:
    """Takes what fits, in order; returns it with the room that is left."""
    chosen: list[Dialogue] = []
    left = wanted
    for dialogue in order:
        if dialogue.tokens <= left:
            chosen.append(dialogue)
            left -= dialogue.tokens
    return chosen, left
