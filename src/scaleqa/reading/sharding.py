"""Dividing items among readers."""

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scaleqa.backends.itemdir import ItemDirectory
from scaleqa.errors import DataError
from scaleqa.reading.leaks import conflict
from scaleqa.reading.pieces import Exposed
from tsim import unfinished


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """The items of one reader.

    Attributes:
        name: The name of its directory, which tells the wave.
        wave: Which of the samples it is part of, from 1.
        items: The items, in the order in which they are shown.
        common: What all their prompts begin with, shown once; empty if they differ.
    """

    name: str
    wave: int
    items: tuple[Exposed, ...]
    common: str = ""


@dataclass(slots=True)
class _Open:
    items: list[Exposed] = field(default_factory=list)

    def takes(self, one: Exposed, size: int) -> bool:
        return len(self.items) < size and not any(
            conflict(one.piece, other.piece) for other in self.items
        )


def divide(
    items: Sequence[Exposed],
    *,
    size: int | None = None,
    readers: int | None = None,
    wave: int | None = None,
    seed: int = 0,
) -> list[Shard]:
    """Divides items so that no item of a shard gives away another.

    Waves come one after the other, so that whoever stops after one has read a stratified sample.
    Items that share a long context have shards of their own, one context each.

    Args:
        items: The items.
        size: Most items of a shard.
        readers: Shards of a wave; more are made if items that may not be together need them.
        wave: Questions of each export in a wave; None for all in one.
        seed: Decides the order.

    Raises:
        DataError: Neither or both of `size` and `readers` are given, or there is nothing to divide.
    """
    if (size is None) == (readers is None):
        raise DataError("say either how many items a shard has (--size), or --readers")
    if not items:
        raise DataError("there are no items to divide")
    waves: dict[int, list[Exposed]] = defaultdict(list)
    for one in items:
        waves[one.exported.rank // wave if wave else 0].append(one)
    found: list[Shard] = []
    for number, (_, some) in enumerate(sorted(waves.items()), 1):
        most = size or math.ceil(len(some) / (readers or 1))
        found += _wave(some, number, most, random.Random(f"shard:{seed}:{number}"))
    return found


def _wave(items: Sequence[Exposed], wave: int, size: int, rng: random.Random) -> Iterator[Shard]:
    ordered = sorted(items, key=lambda one: one.item.custom_id)
    rng.shuffle(ordered)
    groups: dict[str, list[Exposed]] = defaultdict(list)
    for one in ordered:
        groups[one.common].append(one)
    shared = sorted(common for common in groups if common and len(groups[common]) > 1)
    others = [one for one in ordered if one.common not in shared]
    number = 0
    for common, some in (("", others), *((common, groups[common]) for common in shared)):
        for members in _packed(some, size):
            number += 1
            yield Shard(
                name=f"w{wave:02d}-{number:03d}", wave=wave, items=tuple(members), common=common
            )


def _packed(items: Sequence[Exposed], size: int) -> list[list[Exposed]]:
    """Puts each item into the emptiest shard that may have it; order within a shard stays."""
    shards = [_Open() for _ in range(math.ceil(len(items) / size))]
    for one in items:
        fitting = [shard for shard in shards if shard.takes(one, size)]
        if not fitting:
            fitting = [_Open()]
            shards += fitting
        min(fitting, key=lambda shard: len(shard.items)).items.append(one)
    return [shard.items for shard in shards if shard.items]


def write_shards(shards: Sequence[Shard], out: Path) -> None:
    """Writes each shard to a directory of its own; all appear, or none.

    Raises:
        DataError: `out` is there already.
    """
    if out.exists():
        raise DataError(f"{out} is there already; name a new directory, or remove it first")
    out.absolute().parent.mkdir(parents=True, exist_ok=True)
    with unfinished.scratch(out.absolute().parent) as part:
        for shard in shards:
            cut = len(shard.common)
            items = [
                one.item.model_copy(update={"prompt": one.item.prompt[cut:]}) for one in shard.items
            ]
            ItemDirectory.create(
                part / "shards" / shard.name, items, context=shard.common or None, live=False
            )
        (part / "shards").rename(out)
