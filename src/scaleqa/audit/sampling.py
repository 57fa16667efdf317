"""Drawing items, and dealing them out to raters: pure, and the same for the same seed."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from scaleqa.audit.items import Item

Thing = TypeVar("Thing")


def lot(seed: int, *parts: object) -> str:
    """A number drawn for something, which tells nothing about it."""
    return hashlib.sha256(":".join(map(str, (seed, *parts))).encode()).hexdigest()


def stratified(
    candidates: Iterable[Thing],
    count: int,
    *,
    seed: int,
    name: Callable[[Thing], str],
    cell: Callable[[Thing], tuple[str, ...]],
    within: Callable[[Thing], str] = lambda _: "",
) -> list[Thing]:
    """Draws things evenly over cells, and in each cell in proportion to what is within it.

    Places are given out one at a time, to the cell whose first part, then second part and so on,
    then itself has the fewest; a cell that is used up gets none. Inside a cell every n-th is taken
    of a list that is ordered by what is within it, so that each kind has its share.

    Args:
        candidates: What can be drawn; less than `count` are all drawn.
        count: How many to draw.
        seed: Decides ties, and which ones are drawn.
        name: The id of a thing.
        cell: What to be even over, such as domain and split.
        within: What to be proportional to in a cell, such as the stress label.
    """
    cells: dict[tuple[str, ...], list[Thing]] = defaultdict(list)
    for one in candidates:
        cells[cell(one)].append(one)
    order = sorted(cells, key=lambda key: lot(seed, "cell", *key))
    quotas: Counter[tuple[str, ...]] = Counter()
    taken: Counter[Hashable] = Counter()
    for _ in range(min(count, sum(map(len, cells.values())))):
        free = (key for key in order if quotas[key] < len(cells[key]))
        best = min(free, key=lambda key: tuple(taken[part] for part in _parts(key)))
        quotas[best] += 1
        taken.update(_parts(best))
    drawn: list[Thing] = []
    for key, quota in quotas.items():
        members = sorted(cells[key], key=lambda one: (within(one), lot(seed, "one", name(one))))
        start = int(lot(seed, "start", *key)[:8], 16) % len(members)
        drawn += [members[(start + n * len(members) // quota) % len(members)] for n in range(quota)]
    return sorted(drawn, key=name)


def deal(
    items: Sequence[Item], *, raters: int, per_item: int, core: int, seed: int
) -> list[list[str]]:
    """Decides who rates what, and in which order.

    Gold and attention items and a core of the others go to all raters. Each of the rest goes to
    the raters who have the fewest of its stratum, then of all.

    Args:
        items: All items.
        raters: How many raters there are.
        per_item: How many of them rate an item.
        core: How many items all of them rate.
        seed: Decides the core, ties and orders.
    """
    audited = [item for item in items if item.purpose == "audit"]
    shared = stratified(
        audited,
        core,
        seed=seed,
        name=lambda item: item.id,
        cell=lambda item: (item.form, item.origin.source, item.origin.domain),
    )
    everyones = {item.id for item in (*shared, *(i for i in items if i.purpose != "audit"))}
    hands: list[list[Item]] = [[i for i in items if i.id in everyones] for _ in range(raters)]
    have: Counter[tuple[int, tuple[str, ...]]] = Counter()
    for item in sorted(audited, key=lambda one: (one.stratum, lot(seed, "deal", one.id))):
        if item.id in everyones:
            continue
        fewest = sorted(
            range(raters),
            key=lambda rater: (
                have[rater, item.stratum[:2]],
                have[rater, item.stratum],
                len(hands[rater]),
                lot(seed, "rater", rater, item.id),
            ),
        )
        for rater in fewest[:per_item]:
            hands[rater].append(item)
            have.update([(rater, item.stratum[:2]), (rater, item.stratum)])
    return [_ordered(hand, rater, seed) for rater, hand in enumerate(hands)]


def _ordered(hand: Sequence[Item], rater: int, seed: int) -> list[str]:
    """Shuffles what a rater gets; gold and attention items are spread evenly, at drawn places.

    Nothing but the lot of an item decides its place, so the order tells nothing of its source.
    """

    def shuffled(some: Iterable[Item]) -> list[Item]:
        return sorted(some, key=lambda item: lot(seed, "order", rater, item.id))

    order = shuffled(item for item in hand if item.purpose == "audit")
    for purpose in ("gold", "attention"):
        spread = shuffled(item for item in hand if item.purpose == purpose)
        stretch = (len(order) + len(spread)) / len(spread) if spread else 0.0
        for number, item in enumerate(spread):
            share = int(lot(seed, "place", rater, item.id)[:8], 16) / 2**32
            order.insert(int((number + share) * stretch), item)
    return [item.id for item in order]


def _parts(key: tuple[str, ...]) -> tuple[Hashable, ...]:
    return (*((place, part) for place, part in enumerate(key)), key)
