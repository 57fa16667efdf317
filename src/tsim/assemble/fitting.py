"""Fits hits into a budget."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from tsim.assemble.cutting import cut
from tsim.assemble.format import heading, line, lines, render
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
            hit = replace(hit, turns=_shortened(hit, terms, fits, measure, budget))
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
    hit: Hit,
    terms: Sequence[str],
    fits: Callable[[Sequence[Hit]], bool],
    measure: Measure,
    budget: int,
) -> tuple[Turn, ...]:
    """Keeps the turns around the strongest one; a single turn that is too long is cut.

    Turns are added after and before it in turn; when one side takes no more, on the other. More
    turns are taken to need more room.
    """
    strongest = {e.id: e.points for e in hit.why.evidence if e.term == "raw"}
    centre = max(
        range(len(hit.turns)), key=lambda place: (strongest.get(hit.turns[place].id, 0.0), -place)
    )

    def alone(*turns: Turn) -> bool:
        return fits([replace(hit, turns=turns)])

    if not alone(hit.turns[centre]):
        short = cut(hit.turns[centre], terms, alone)
        return (short,) if short else ()
    room = measure.room(budget)

    def size(turn: Turn) -> int:
        far_too_long = turn.shown is None and len(turn.text) > LONGEST_TOKEN * budget
        return room + 1 if far_too_long else measure.size(f"{line(turn)}\n")

    total = [0, *accumulate(map(size, hit.turns))]

    def longest(ranges: Sequence[tuple[int, int]]) -> int:
        """Returns how many of some ranges fit, each of them longer than the one before.

        Writing every one would take time that is quadratic in the turns. The sizes of lines nearly
        add up, so that two are enough, mostly.
        """

        def too_long(place: int) -> bool:
            first, last = ranges[place]
            return not alone(*hit.turns[first : last + 1])

        nearly = bisect_right(ranges, room, key=lambda one: total[one[1] + 1] - total[one[0]])
        low, high = 0, len(ranges)
        for near in (nearly - 1, nearly):
            if low <= near < high:
                low, high = (low, near) if too_long(near) else (near + 1, high)
        return bisect_left(range(len(ranges)), True, low, high, key=too_long)

    both = [*_growing(len(hit.turns), centre, centre, after=True, before=True)]
    count = longest(both)
    first, last = both[count - 1] if count else (centre, centre)
    if count < len(both):
        after = both[count][1] == last  # the turn before does not fit any more
        rest = [*_growing(len(hit.turns), first, last, after=after, before=not after)]
        more = longest(rest)
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
