"""Stratified subsets of records, and subsets of lives."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from typing import TypeVar

from scaleqa.errors import DataError
from scaleqa.records import Case, Life

CaseT = TypeVar("CaseT", bound=Case)


def subset(records: Sequence[CaseT], count: int, seed: int) -> list[CaseT]:
    """Chooses records so that domains, letters and splits are as even as the number allows.

    Records are taken one at a time, from the stratum (domain, letter, split) whose domain, then
    letter, then split has been chosen least. The seed decides between ties and within a stratum.

    Raises:
        DataError: There are fewer records than requested.
    """
    if not 1 <= count <= len(records):
        raise DataError(f"a subset of {count} was asked for; there are {len(records)} records")
    rng = random.Random(f"subset:{seed}")
    strata: dict[tuple[str, str, str], list[CaseT]] = defaultdict(list)
    for record in sorted(records, key=lambda r: r.id):
        strata[record.domain, record.answer, record.split].append(record)
    for members in strata.values():
        rng.shuffle(members)
    keys = sorted(strata)
    rng.shuffle(keys)
    taken: Counter[str] = Counter()
    chosen: list[CaseT] = []
    while len(chosen) < count:
        open_keys = (key for key in keys if strata[key])
        best = min(open_keys, key=lambda key: tuple(taken[part] for part in (*key, "".join(key))))
        taken.update((*best, "".join(best)))
        chosen.append(strata[best].pop())
    return sorted(chosen, key=lambda record: record.id)


def subset_of_lives(lives: Sequence[Life], questions: int) -> list[Life]:
    """Chooses whole lives, as many of each split, until they have the number of questions.

    Lives are taken in the order of their ids. At least one of each split is taken, and all of them
    if they have fewer questions than that.
    """
    by_split: dict[str, list[Life]] = defaultdict(list)
    for life in sorted(lives, key=lambda one: one.id):
        by_split[life.split].append(life)
    chosen: list[Life] = []
    for some in zip_longest(*by_split.values()):
        if sum(len(life.questions) for life in chosen) >= questions:
            break
        chosen += filter(None, some)
    return sorted(chosen, key=lambda one: one.id)
