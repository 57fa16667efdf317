"""What earlier exchanges take of the contexts, and how CL hit goes along the question order."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.evaluate.rows import Row
from scaleqa.figures.groups import Group
from scaleqa.figures.presence import present

BLOCKS = 10
LEAST = 15


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


def exchange_table(group: Group) -> list[Exchanges]:
    """Counts earlier exchanges in contexts, and follows CL hit along the question order.

    Questions whose matter never came up do not count.
    """
    out = []
    for name, every in group.rows.items():
        rows = present(every)
        some = [row for row in rows if row.exchanges_shown]
        rest = [row for row in rows if not row.exchanges_shown]
        out.append(
            Exchanges(
                system=name,
                shown=sum(row.turns_shown for row in rows),
                from_exchanges=sum(row.exchanges_shown for row in rows),
                questions=len(rows),
                with_some=len(some),
                hit_with=_hit(some) if some else None,
                hit_without=_hit(rest) if rest else None,
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
        sizes[row.run.package] = max(sizes.get(row.run.package, 0), row.place + 1)
    count = max(1, min(BLOCKS, len(rows) // LEAST, *sizes.values()))
    parts: list[list[Row]] = [[] for _ in range(count)]
    for row in rows:
        parts[row.place * count // sizes[row.run.package]].append(row)
    return [
        Block(end=(number + 1) / count, questions=len(part), hit=_hit(part))
        for number, part in enumerate(parts)
        if part
    ]


def _hit(rows: Sequence[Row]) -> float:
    return statistics.fmean(row.hit for row in rows)
