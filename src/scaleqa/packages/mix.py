"""The order in which the turns of many dialogues appear in one thread.

Both functions take the lengths of the dialogues. For each position in the thread they return the
dialogue whose next turn goes there, so the turns of a dialogue always keep their order.
"""

import random
from collections.abc import Sequence

ACTIVE = 4
MOST_GAP = 12


def blocks(lengths: Sequence[int], rng: random.Random) -> list[int]:
    """Places whole dialogues one after another, in random order."""
    order = list(range(len(lengths)))
    rng.shuffle(order)
    return [dialogue for dialogue in order for _ in range(lengths[dialogue])]


def braid(lengths: Sequence[int], rng: random.Random) -> list[int]:
    """Interleaves dialogues turn by turn.

    At most four dialogues are active at a time. A dialogue that has been silent for eight positions
    (twelve less the four active ones) speaks next, so fewer than twelve other turns separate two
    turns of a dialogue.
    """
    waiting = list(range(len(lengths)))
    rng.shuffle(waiting)
    waiting.reverse()
    left = list(lengths)
    active: list[int] = []
    silent: dict[int, int] = {}
    order: list[int] = []
    while waiting or active:
        while waiting and len(active) < ACTIVE:
            fresh = waiting.pop()
            active.append(fresh)
            silent[fresh] = 0
        overdue = [one for one in active if silent[one] >= MOST_GAP - ACTIVE and order.count(one)]
        speaker = (
            max(overdue, key=lambda one: (silent[one], -one)) if overdue else rng.choice(active)
        )
        order.append(speaker)
        left[speaker] -= 1
        for one in active:
            silent[one] += 1
        silent[speaker] = 0
        if not left[speaker]:
            active.remove(speaker)
    return order
