"""From rows to figures: pure functions, one a table."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scaleqa.evaluate.compare import Compared, compare
from scaleqa.evaluate.metrics import Scores, score
from scaleqa.evaluate.rows import Row
from scaleqa.report.groups import Group, Setting
from scaleqa.stats import Interval, wilson

BLOCKS = 10
LEAST = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How values lie."""

    mean: float
    median: float
    p95: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Main:
    """A system's line of the main table.

    Attributes:
        system: Its name and options.
        scores: Its scores.
        context: Tokens of its contexts.
        domain_std: Standard deviation of accuracy over the domains, as of a whole population.
        batch_range: Lowest and highest accuracy of a package; None where there is one.
    """

    system: str
    scores: Scores
    context: Spread
    domain_std: float
    batch_range: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The first system against another, on the questions both were asked."""

    first: str
    second: str
    questions: int
    measures: list[Compared]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of the question order: where it ends as a share of all, and its CL hit."""

    end: float
    questions: int
    hit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanges:
    """What of a system's contexts were earlier exchanges.

    Attributes:
        system: Its name and options.
        shown: Turns shown, over all questions.
        from_exchanges: Those that were earlier exchanges.
        questions: Questions asked.
        with_some: Questions with one such turn at least.
        hit_with: CL hit on those.
        hit_without: CL hit on the rest.
        blocks: CL hit along the question order.
    """

    system: str
    shown: int
    from_exchanges: int
    questions: int
    with_some: int
    hit_with: float | None
    hit_without: float | None
    blocks: list[Block]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A system on a part of the questions."""

    questions: int
    accuracy: float
    hit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """A system at one length of thread."""

    target: int
    questions: int
    accuracy: float
    accuracy_interval: Interval
    hit: float
    hit_interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Systems by length; everything but length and choice of records is the same."""

    setting: Setting
    systems: dict[str, list[Length]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a system's answers took.

    Attributes:
        system: Its name and options.
        questions: Questions asked.
        context_tokens: Tokens of all contexts, by the benchmark's count.
        prompt_tokens: Tokens the provider counted in; 0 where it does not tell.
        completion_tokens: Tokens the provider counted out.
        retrieve_p50_ms: Median time to retrieve.
        retrieve_p95_ms: 95th percentile.
        answer_p50_ms: Median time to answer.
        answer_p95_ms: 95th percentile.
        llm_calls: Calls the system itself made, ingest and write-back included; None where rows do
            not tell.
        cost_usd: Price of all answers; None where rows do not tell.
    """

    system: str
    questions: int
    context_tokens: int
    prompt_tokens: int
    completion_tokens: int
    retrieve_p50_ms: float
    retrieve_p95_ms: float
    answer_p50_ms: float
    answer_p95_ms: float
    llm_calls: int | None
    cost_usd: float | None


def main_table(group: Group) -> list[Main]:
    """Computes the main comparison."""
    return [
        Main(
            system=name,
            scores=score(rows),
            context=spread([row["context_tokens"] for row in rows]),
            domain_std=statistics.pstdev(_accuracies(rows, lambda row: row["domain"])),
            batch_range=_range(_accuracies(rows, lambda row: row["run"]["package"])),
        )
        for name, rows in group.rows.items()
    ]


def paired_table(group: Group) -> list[Paired]:
    """Compares the first system with each other one it shares a question with."""
    first, *others = group.systems
    own = {row["id"] for row in group.rows[first]}
    found = []
    for other in others:
        if own & {row["id"] for row in group.rows[other]}:
            both = [*group.rows[first], *group.rows[other]]
            questions, measures = compare(both, first, other)
            found.append(Paired(first=first, second=other, questions=questions, measures=measures))
    return found


def exchange_table(group: Group) -> list[Exchanges]:
    """Counts earlier exchanges in contexts, and follows CL hit along the question order."""
    out = []
    for name, rows in group.rows.items():
        some = [row for row in rows if row["shown_from_exchanges"]]
        rest = [row for row in rows if not row["shown_from_exchanges"]]
        out.append(
            Exchanges(
                system=name,
                shown=sum(len(row["shown"]) for row in rows),
                from_exchanges=sum(row["shown_from_exchanges"] for row in rows),
                questions=len(rows),
                with_some=len(some),
                hit_with=_share(some, "hit"),
                hit_without=_share(rest, "hit"),
                blocks=blocks(rows),
            )
        )
    return out


def blocks(rows: Sequence[Row]) -> list[Block]:
    """Cuts each package's question order into equal parts and pools the parts of all packages.

    There are ten parts, or fewer where they would hold too few questions to say anything.
    """
    sizes: dict[str, int] = {}
    for row in rows:
        package = row["run"]["package"]
        sizes[package] = max(sizes.get(package, 0), row["place"] + 1)
    count = max(1, min(BLOCKS, len(rows) // LEAST, *sizes.values()))
    parts: list[list[Row]] = [[] for _ in range(count)]
    for row in rows:
        parts[row["place"] * count // sizes[row["run"]["package"]]].append(row)
    return [
        Block(end=(number + 1) / count, questions=len(part), hit=_mean(row["hit"] for row in part))
        for number, part in enumerate(parts)
        if part
    ]


def by_domain(group: Group) -> dict[str, dict[str, Cell]]:
    """Computes accuracy and CL hit of each system, domain by domain."""
    return _breakdown(group, lambda row: [row["domain"]])


def by_stress(group: Group) -> dict[str, dict[str, Cell]]:
    """Computes accuracy and CL hit of each system by stress label; a question may have several."""
    return _breakdown(group, lambda row: row["stress"])


def scaling(groups: Iterable[Group]) -> list[Scaling]:
    """Follows systems over lengths, wherever there are two of one otherwise equal setting.

    Where two sets of records have the same length, the one with more questions counts.
    """
    kinds: dict[tuple[object, ...], list[Group]] = {}
    for group in groups:
        one = group.setting
        kind = (one.backend, one.embedder, one.prompt, one.writeback)
        if one.target is not None:
            kinds.setdefault(kind, []).append(group)
    found = []
    for members in kinds.values():
        chosen: dict[int, Group] = {}
        for group in sorted(members, key=lambda g: (g.questions, g.setting.records)):
            chosen[group.setting.target or 0] = group
        if len(chosen) > 1:
            systems: dict[str, list[Length]] = {}
            for target in sorted(chosen):
                for name, rows in chosen[target].rows.items():
                    systems.setdefault(name, []).append(_length(target, rows))
            found.append(Scaling(setting=members[0].setting, systems=systems))
    return found


def cost_table(group: Group) -> list[Cost]:
    """Adds up tokens, times and prices."""
    out = []
    for name, rows in group.rows.items():
        retrieve = spread([row["retrieve_ms"] for row in rows])
        answer = spread([row["answer_ms"] for row in rows])
        out.append(
            Cost(
                system=name,
                questions=len(rows),
                context_tokens=sum(row["context_tokens"] for row in rows),
                prompt_tokens=sum(row["prompt_tokens"] for row in rows),
                completion_tokens=sum(row["completion_tokens"] for row in rows),
                retrieve_p50_ms=retrieve.median,
                retrieve_p95_ms=retrieve.p95,
                answer_p50_ms=answer.median,
                answer_p95_ms=answer.p95,
                llm_calls=_total(rows, "llm_calls"),
                cost_usd=_total(rows, "cost_usd"),
            )
        )
    return out


def spread(values: Sequence[float]) -> Spread:
    """Tells mean, median, 95th percentile (the value at that rank, rounded down) and largest."""
    ordered = sorted(values)
    return Spread(
        mean=statistics.fmean(ordered),
        median=statistics.median(ordered),
        p95=ordered[int(0.95 * (len(ordered) - 1))],
        most=ordered[-1],
    )


def accuracy(rows: Sequence[Row]) -> float:
    """As the paper counts it: an unanswered question earns a quarter."""
    return _credit(rows) / len(rows)


def _credit(rows: Sequence[Row]) -> float:
    return sum(bool(row["correct"]) + (row["answer"] is None) / 4 for row in rows)


def _length(target: int, rows: Sequence[Row]) -> Length:
    hits = sum(row["hit"] for row in rows)
    return Length(
        target=target,
        questions=len(rows),
        accuracy=accuracy(rows),
        accuracy_interval=wilson(_credit(rows), len(rows)),
        hit=hits / len(rows),
        hit_interval=wilson(hits, len(rows)),
    )


def _breakdown(group: Group, labels: Callable[[Row], list[str]]) -> dict[str, dict[str, Cell]]:
    found: dict[str, dict[str, Cell]] = {}
    for name, rows in group.rows.items():
        parts: dict[str, list[Row]] = {}
        for row in rows:
            for label in labels(row):
                parts.setdefault(label, []).append(row)
        for label, part in parts.items():
            found.setdefault(label, {})[name] = Cell(
                questions=len(part),
                accuracy=accuracy(part),
                hit=_mean(row["hit"] for row in part),
            )
    return dict(sorted(found.items()))


def _accuracies(rows: Sequence[Row], kind: Callable[[Row], str]) -> list[float]:
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(kind(row), []).append(row)
    return [accuracy(part) for _, part in sorted(parts.items())]


def _range(values: Sequence[float]) -> tuple[float, float] | None:
    return (min(values), max(values)) if len(values) > 1 else None


def _share(rows: Sequence[Row], name: str) -> float | None:
    return _mean(row[name] for row in rows) if rows else None


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


def _total(rows: Sequence[Row], name: str) -> Any:
    values = [row.get(name) for row in rows]
    told = [value for value in values if value is not None]
    return sum(told) if len(told) == len(values) else None
