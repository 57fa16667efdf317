"""What several judges say of the same answers: how far accuracy depends on them, and agreement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from scaleqa.evaluate.rows import Row
from scaleqa.stats.agreement import Estimate, coded, cohen, estimate, percent

SEED = 29
# What a judge of rows of version 1 is called.
UNNAMED = "the judge of the run"
# Verdicts by the answer they are about: system, package and question.
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far two judges agree on the answers that both graded.

    Attributes:
        first: The first judge.
        second: The second.
        answers: Answers that both graded.
        raw: The share on which they agree.
        kappa: Cohen's kappa; its value is None where both always say the same.
        both: Answers that are right for both.
        only_first: Right for the first alone.
        only_second: Right for the second alone.
        neither: Wrong for both.
    """

    first: str
    second: str
    answers: int
    raw: Estimate
    kappa: Estimate
    both: int
    only_first: int
    only_second: int
    neither: int


def verdicts(row: Row) -> dict[str, bool]:
    """Returns all verdicts on the answer in a row: that of its run, then those of others."""
    if row.answered is None or row.run.reader is None:
        return {}
    own = row.run.reader.judge or UNNAMED
    return {own: row.answered.correct, **{k: v for k, v in (row.judged or {}).items() if k != own}}


def accuracies(rows: Sequence[Row]) -> dict[str, float]:
    """Returns the share of right answers by judge, of judges that graded all answers.

    What one judge left out would make its share one of other answers.
    """
    every = [verdicts(row) for row in rows]
    common = [name for name in every[0] if all(name in one for one in every)] if every else []
    return {name: sum(one[name] for one in every) / len(every) for name in common}


def span(by_judge: Mapping[str, float]) -> tuple[float, ...]:
    """Returns the lowest and highest value over judges; empty where there is one judge."""
    return (min(by_judge.values()), max(by_judge.values())) if len(by_judge) > 1 else ()


def by_judge(rows: Sequence[Row]) -> dict[str, dict[Key, bool]]:
    """Returns all verdicts of each judge."""
    found: dict[str, dict[Key, bool]] = {}
    for row in rows:
        for name, correct in verdicts(row).items():
            found.setdefault(name, {})[row.run.system, row.run.package, row.id] = correct
    return found


def agreements(found: Mapping[str, Mapping[Key, bool]]) -> list[Agreement]:
    """Compares every two judges that graded some of the same answers."""
    pairs = combinations(found.items(), 2)
    return [
        _agreement(first, second, [(one[key], two[key]) for key in sorted({*one} & {*two})])
        for (first, one), (second, two) in pairs
        if {*one} & {*two}
    ]


def _agreement(first: str, second: str, pairs: Sequence[tuple[bool, bool]]) -> Agreement:
    codes = coded(pairs, (False, True))
    return Agreement(
        first=first,
        second=second,
        answers=len(pairs),
        raw=estimate(percent(codes, 2), seed=SEED),
        kappa=estimate(cohen(codes, 2), seed=SEED),
        both=pairs.count((True, True)),
        only_first=pairs.count((True, False)),
        only_second=pairs.count((False, True)),
        neither=pairs.count((False, False)),
    )
