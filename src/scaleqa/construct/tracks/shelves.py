"""Dialogues among which a reader picks the one that a question is about."""

import random
from collections.abc import Mapping, Sequence

SHELF = 20


def draw_shelf(seed: str, own: str, pool: Sequence[str]) -> tuple[str, ...]:
    """Draws the ids of a shelf, the own one among them.

    Args:
        seed: The seed of the plan.
        own: The id of the dialogue that is to be picked.
        pool: The ids of all dialogues.
    """
    rng = random.Random(f"{seed}:shelf:{own}")
    others = sorted({*pool} - {own})
    found = [own, *rng.sample(others, min(SHELF - 1, len(others)))]
    rng.shuffle(found)
    return tuple(found)


def shelved(dialogues: Mapping[str, str], shelf: Sequence[str]) -> str:
    """Writes the dialogues of a shelf, counted from one."""
    return "\n\n".join(f"Dialogue {n}:\n{dialogues[one]}" for n, one in enumerate(shelf, 1))
