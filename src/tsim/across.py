"""Search in several threads under one budget."""

from collections.abc import Callable, Mapping

from tsim.assemble import Arrange, fit
from tsim.engine import Query
from tsim.types import Hit

# A thread whose best hit is this many times less likely than the best of all gets no budget.
FAINT = 10
# Tokens that a thread is given at least, on average.
LEAST_SHARE = 80

# The hits of one thread, for a budget in tokens.
Finder = Callable[[int | None], list[Hit]]


def across(
    finders: Mapping[str, Finder], asked: Query, *, arrange: Arrange, named: bool
) -> list[Hit]:
    """Searches threads and ranks their hits together, best first.

    Relevances are probabilities, and can be compared across threads; so can the scores of presets
    without relevances, which are sums of cosines.

    A method with relevances fills whatever budget it is given. So every thread is asked twice: with
    the whole budget, to learn how likely its best hit holds what was asked, and then with the share
    of the budget that this likelihood has in the sum of all. A thread that is far less likely than
    another gets nothing.

    Args:
        finders: The threads, by name.
        asked: The query, with the budget and the number of hits for all threads together.
        arrange: Sorts hits into the order of the context.
        named: Whether headings name threads.
    """
    budget = asked.budget
    found = {name: find(budget) for name, find in finders.items()}
    best = {name: max(map(_rank, hits)) for name, hits in found.items() if hits}
    if budget is not None and len(best) > 1 and _packed(found):
        least = max(best.values()) / FAINT
        best = {name: value for name, value in best.items() if value >= least}
        # A share that is too small for an answer would be wasted: the likeliest threads get it all.
        likeliest = sorted(best, key=lambda name: -best[name])[: max(1, budget // LEAST_SHARE)]
        best = {name: best[name] for name in best if name in likeliest}
        total = sum(best.values())
        shares = {name: int(budget * value / total) for name, value in best.items()}
        found = {name: finders[name](most) for name, most in shares.items() if most > 0}
    order = {name: place for place, name in enumerate(finders)}
    hits = [hit for some in found.values() for hit in some]
    hits.sort(key=lambda hit: (-_rank(hit), order[hit.thread], hit.turns[0].id))
    return fit(hits[: asked.count], budget, asked.measure, arrange=arrange, named=named)


def _rank(hit: Hit) -> float:
    return hit.score if hit.relevance is None else hit.relevance


def _packed(found: Mapping[str, list[Hit]]) -> bool:
    return all(hit.relevance is not None for hits in found.values() for hit in hits)
