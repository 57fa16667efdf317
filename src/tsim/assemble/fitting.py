"""Fits hits into a budget."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tsim.assemble.cutting import cut
from tsim.assemble.format import heading, lines, render
from tsim.tokens import Measure
from tsim.types import Hit, Turn

Arrange = Callable[[Sequence[Hit]], list[Hit]]
# A context with more characters per token of the budget is too long, whatever the measure says: so
# that a tokenizer need not read megabytes, and words without end are no single word.
LONGEST_TOKEN = 100


def fit(
    hits: Sequence[Hit],
    budget: int | None,
    measure: Measure,
    *,
    terms: Sequence[str] = (),
    arrange: Arrange = list,
    named: bool = False,
) -> list[Hit]:
    """Takes hits in order, skipping those that do not fit into the budget.

    The first hit is included even if it is too long: it is then shortened to fit.

    Args:
        hits: The hits, best first.
        budget: Maximum number of tokens of their context; None for no limit.
        measure: What the budget is measured by.
        terms: What was asked for; a turn that must be cut is cut around these.
        arrange: Sorts hits into the order of the context.
        named: Whether headings name threads.
    """
    if budget is None:
        return list(hits)
    room = measure.room(budget)

    def fits(some: Sequence[Hit]) -> bool:
        whole = (turn.text for hit in some for turn in hit.turns if turn.shown is None)
        if sum(map(len, whole)) > LONGEST_TOKEN * budget:  # not worth writing
            return False
        text = render(arrange(some), named=named)
        return len(text) <= LONGEST_TOKEN * budget and measure.size(text) <= room

    if fits(hits):
        return list(hits)
    chosen: list[Hit] = []
    left = room
    for place, hit in enumerate(hits):
        if place == 0 and not fits([hit]):
            hit = replace(hit, turns=_shortened(hit, terms, fits))
            if not hit.turns:  # not even a character of it fits
                continue
        price = measure.size(_block(hit, named))
        if price <= left or place == 0:
            chosen.append(hit)
            left -= price
    # Tokens do not quite add up where lines meet.
    while chosen and not fits(chosen):
        chosen.pop()
    return chosen


def _block(hit: Hit, named: bool) -> str:
    """Returns a hit with a heading that is at least as long as it will be in a context."""
    head = heading(hit.turns, clock=True, thread=hit.thread if named else "")
    return "\n".join([head, *lines(hit.turns)]) + "\n\n"


def _shortened(
    hit: Hit, terms: Sequence[str], fits: Callable[[Sequence[Hit]], bool]
) -> tuple[Turn, ...]:
    """Keeps the turns around the strongest one; a single turn that is too long is cut."""
    strongest = {e.id: e.points for e in hit.why.evidence if e.term == "raw"}
    centre = max(
        range(len(hit.turns)), key=lambda place: (strongest.get(hit.turns[place].id, 0.0), -place)
    )

    def alone(*turns: Turn) -> bool:
        return fits([replace(hit, turns=turns)])

    if not alone(hit.turns[centre]):
        short = cut(hit.turns[centre], terms, alone)
        return (short,) if short else ()
    # Extended by a turn after and one before in turn; when one side takes no more, by the other.
    both = [*_growing(len(hit.turns), centre, centre, after=True, before=True)]
    fitting = _fitting(hit.turns, both, alone)
    first, last = both[fitting - 1] if fitting else (centre, centre)
    if fitting < len(both):
        after = both[fitting][1] == last  # the turn before does not fit any more
        rest = [*_growing(len(hit.turns), first, last, after=after, before=not after)]
        more = _fitting(hit.turns, rest, alone)
        first, last = rest[more - 1] if more else (first, last)
    return hit.turns[first : last + 1]


def _growing(
    count: int, first: int, last: int, *, after: bool, before: bool
) -> Iterator[tuple[int, int]]:
    """Yields ranges of turns, each of them a turn longer than the one before, up to all turns."""
    while (after and last + 1 < count) or (before and first):
        if after and last + 1 < count:
            last += 1
            yield first, last
        if before and first:
            first -= 1
            yield first, last


def _fitting(
    turns: Sequence[Turn], growing: Sequence[tuple[int, int]], fits: Callable[..., bool]
) -> int:
    """Returns how many of some ranges, each longer than the one before, fit.

    Found by bisection: writing every one of them would take time that is quadratic in the turns.
    """

    def too_long(place: int) -> bool:
        first, last = growing[place]
        return not fits(*turns[first : last + 1])

    return bisect_left(range(len(growing)), True, key=too_long)
