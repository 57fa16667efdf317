"""The main comparison: every system of a setting, and the first one against each other."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scaleqa.evaluate.rows import Row
from scaleqa.figures.groups import Group
from scaleqa.figures.paired import Compared, compare
from scaleqa.figures.presence import present
from scaleqa.figures.scores import Scores, accuracy, score
from scaleqa.figures.spread import Spread, spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Main:
    """A system's line of the main table.

    Attributes:
        system: Its name and options.
        scores: Its scores.
        context: Tokens of its contexts.
        domain_std: Standard deviation of accuracy over the domains, as of a whole population; None
            where no language model answered.
        batch_range: Lowest and highest accuracy of a package; None where there is one package, or
            no language model answered.
    """

    system: str
    scores: Scores
    context: Spread
    domain_std: float | None
    batch_range: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The first system against another, on the questions both were asked."""

    first: str
    second: str
    questions: int
    measures: list[Compared]


def main_table(group: Group) -> list[Main]:
    """Computes the main comparison."""
    return [_main(name, rows) for name, rows in group.rows.items()]


def paired_table(group: Group) -> list[Paired]:
    """Compares the first system with each other one it shares a question with."""
    first, *others = group.systems
    own = {row.id for row in group.rows[first] if row.present}
    found = []
    for other in others:
        if own & {row.id for row in group.rows[other]}:
            both = [*group.rows[first], *group.rows[other]]
            questions, measures = compare(both, first, other)
            found.append(Paired(first=first, second=other, questions=questions, measures=measures))
    return found


def _main(name: str, rows: Sequence[Row]) -> Main:
    scores, asked = score(rows), present(rows)
    domains = _accuracies(asked, lambda row: row.domain or "") if scores.answers else []
    packages = _accuracies(asked, lambda row: row.run.package) if scores.answers else []
    return Main(
        system=name,
        scores=scores,
        context=spread([row.context_tokens for row in asked]),
        domain_std=statistics.pstdev(domains) if domains else None,
        batch_range=(min(packages), max(packages)) if len(packages) > 1 else None,
    )


def _accuracies(rows: Sequence[Row], kind: Callable[[Row], str]) -> list[float]:
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(kind(row), []).append(row)
    return [accuracy(part) for _, part in sorted(parts.items())]
