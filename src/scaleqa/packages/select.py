"""Stratified subsets of records."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TypeVar

from scaleqa.errors import DataError
from scaleqa.records import Case

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
