"""Fits hits into a budget."""

from collections.abc import Callable, Sequence
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
    first, last = centre, centre
    for _ in hit.turns:  # extend by one turn after and one before, as long as they fit
        for after, before in ((1, 0), (0, 1)):
            low, high = first - before, last + after
            if low >= 0 and high < len(hit.turns) and alone(*hit.turns[low : high + 1]):
                first, last = low, high
    return hit.turns[first : last + 1]
