"""Systems on parts of the questions: by domain, by stress label, by length of the thread."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scaleqa.evaluate.rows import Row
from scaleqa.figures.groups import Group, Setting
from scaleqa.figures.presence import present
from scaleqa.figures.scores import Answers, score
from scaleqa.stats import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A system on a part of the questions; accuracy is None where no language model answered."""

    questions: int
    accuracy: float | None
    hit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """A system at one length of thread; without answers of a language model, `answers` is None."""

    target: int
    questions: int
    hit: float
    hit_interval: Interval
    answers: Answers | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Systems by length; everything but length and choice of records is the same."""

    setting: Setting
    systems: dict[str, list[Length]]


def by_domain(group: Group) -> dict[str, dict[str, Cell]]:
    """Computes accuracy and hit of each system, domain by domain."""
    return _breakdown(group, lambda row: [row.domain] if row.domain else [])


def by_stress(group: Group) -> dict[str, dict[str, Cell]]:
    """Computes accuracy and hit of each system by stress label; a question may have several."""
    return _breakdown(group, lambda row: row.stress)


def scaling(groups: Iterable[Group]) -> list[Scaling]:
    """Follows systems over lengths, wherever there are two of one otherwise equal setting.

    Where two sets of records have the same length, the one with more questions counts.
    """
    kinds: dict[tuple[object, ...], list[Group]] = {}
    for group in groups:
        one = group.setting
        kind = (
            one.dataset,
            one.track,
            one.backend,
            one.embedder,
            one.prompt,
            one.writeback,
        )
        if one.target is not None:
            kinds.setdefault(kind, []).append(group)
    found = []
    for members in kinds.values():
        chosen: dict[int, Group] = {}
        for group in sorted(members, key=lambda g: (g.questions, g.setting.records or "")):
            chosen[group.setting.target or 0] = group
        if len(chosen) > 1:
            systems: dict[str, list[Length]] = {}
            for target in sorted(chosen):
                for name, rows in chosen[target].rows.items():
                    systems.setdefault(name, []).append(_length(target, rows))
            found.append(Scaling(setting=members[0].setting, systems=systems))
    return found


def _length(target: int, rows: Sequence[Row]) -> Length:
    scores = score(rows)
    return Length(
        target=target,
        questions=scores.questions,
        hit=scores.hit,
        hit_interval=scores.hit_interval,
        answers=scores.answers,
    )


def _breakdown(group: Group, labels: Callable[[Row], Sequence[str]]) -> dict[str, dict[str, Cell]]:
    found: dict[str, dict[str, Cell]] = {}
    for name, rows in group.rows.items():
        parts: dict[str, list[Row]] = {}
        for row in present(rows):
            for label in labels(row):
                parts.setdefault(label, []).append(row)
        for label, part in parts.items():
            answers = score(part).answers
            found.setdefault(label, {})[name] = Cell(
                questions=len(part),
                accuracy=answers.accuracy if answers else None,
                hit=statistics.fmean(row.hit for row in part),
            )
    return dict(sorted(found.items()))
