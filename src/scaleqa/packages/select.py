"""Stratified subsets of records and samples of questions, and subsets of lives."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import TypeAlias, TypeVar

from scaleqa.errors import DataError
from scaleqa.packages.package import Question
from scaleqa.records import Case, Life

CaseT = TypeVar("CaseT", bound=Case)
ItemT = TypeVar("ItemT")
# What items of a kind have in common: domain, letter, split.
Stratum: TypeAlias = tuple[str, ...]


def subset(records: Sequence[CaseT], count: int, seed: int) -> list[CaseT]:
    """Chooses records so that domains, letters and splits are as even as the number allows.

    Raises:
        DataError: There are fewer records than requested.
    """
    if not 1 <= count <= len(records):
        raise DataError(f"a subset of {count} was asked for; there are {len(records)} records")
    strata: dict[Stratum, list[CaseT]] = defaultdict(list)
    for record in sorted(records, key=lambda r: r.id):
        strata[record.domain, record.answer, record.split].append(record)
    chosen = islice(_spread(strata, random.Random(f"subset:{seed}")), count)
    return sorted(chosen, key=lambda record: record.id)


def in_sample_order(questions: Sequence[Question], seed: int) -> list[Question]:
    """Orders questions so that the first ones are a stratified sample, however many they are.

    Domains, kinds (the first label of stress), right letters and splits are as even as the number
    of questions allows.
    """
    strata: dict[Stratum, list[Question]] = defaultdict(list)
    for question in sorted(questions, key=lambda one: one.id):
        letter = question.answer if question.options else None
        kind = next(iter(question.stress), None)
        parts = (question.domain, kind, letter, question.split)
        strata[tuple(part or "" for part in parts)].append(question)
    return list(_spread(strata, random.Random(f"sample:{seed}")))


def _spread(strata: Mapping[Stratum, list[ItemT]], rng: random.Random) -> Iterator[ItemT]:
    """Takes items one at a time, from the stratum whose first part has been chosen least.

    Among equals the second part decides, and so on; the seed decides between ties and within a
    stratum.
    """
    for members in strata.values():
        rng.shuffle(members)
    keys = sorted(strata)
    rng.shuffle(keys)
    taken: Counter[tuple[int | str, ...]] = Counter()
    while open_keys := [key for key in keys if strata[key]]:
        best = min(open_keys, key=lambda key: [taken[part] for part in (*enumerate(key), key)])
        taken.update((*enumerate(best), best))
        yield strata[best].pop()


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
