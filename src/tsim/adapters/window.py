"""What a model is shown of a conversation: the latest messages, and what else is relevant.

    latest(said, …) ─▶ the last messages that fit, none of them torn from what it belongs to
    besides(hits, …) ─▶ what was found, without what these messages say already

Both are within one budget of tokens, and pure. A tool call stays with its result, or both are left
out: no model accepts one without the other.

>>> said = [Said(message="hello", text="hello", opens=True)]
>>> [one.message for one in latest(said, budget=100)]
['hello']
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from tsim.assemble import chronological, fit, render
from tsim.tokens import ESTIMATE, Measure
from tsim.types import Hit, SpanWhy

M = TypeVar("M")

# What a message costs beside its text: its role, and where it begins and ends. Tool calls and their
# results cost as much again: their ids.
OVERHEAD = 4
# How much of a budget the latest messages may use; the rest, and what they leave, is for hits.
LATEST_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Generic[M]):
    """A message in some framework's form, and what a window has to know about it.

    Attributes:
        message: The message as it is given back.
        text: What it says, as the turn does that it is stored as.
        turn: The number of the turn that it is stored as, if known.
        calls: Ids of the tool calls in it.
        results: Ids of the tool calls whose results are in it.
        opens: Whether a user begins to speak here: a conversation may begin with this message.
        leads: Whether it means nothing without the next message, as a model's reasoning does.
    """

    message: M
    text: str
    turn: int | None = None
    calls: frozenset[str] = frozenset()
    results: frozenset[str] = frozenset()
    opens: bool = False
    leads: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Besides:
    """What was found beside the latest messages.

    Attributes:
        hits: The hits without the turns that are among the latest messages, best first.
        text: The hits as text for a prompt, after the preamble; empty if there are none.
    """

    hits: tuple[Hit, ...] = ()
    text: str = ""


def price(text: str, measure: Measure = ESTIMATE) -> int:
    """Returns what a message with this text costs in tokens."""
    return measure.tokens(text) + OVERHEAD


def cost(said: Iterable[Said[M]], measure: Measure = ESTIMATE) -> int:
    """Returns what messages cost in tokens."""
    return sum(
        price(one.text, measure) + OVERHEAD * (len(one.calls) + len(one.results)) for one in said
    )


def latest(said: Sequence[Said[M]], *, budget: int, measure: Measure = ESTIMATE) -> list[Said[M]]:
    """Returns the last messages that fit into a budget, in order, from where a user speaks.

    Tool calls without their results, and results without their calls, are left out. If not even the
    last exchange fits, its first message and its last ones are returned; nothing if that does not
    fit either.

    Args:
        said: Messages in the order they were said.
        budget: Maximum number of tokens, `OVERHEAD` for each message included.
        measure: What the tokens are counted by.
    """
    groups = [*_together(said)]
    first, left = len(groups), budget
    while first and (paid := cost(groups[first - 1], measure)) <= left:
        first, left = first - 1, left - paid
    begin = next((n for n in range(first, len(groups)) if groups[n][0].opens), None)
    if begin is not None:
        return [one for group in groups[begin:] for one in group]
    opening = next((n for n in range(first - 1, -1, -1) if groups[n][0].opens), None)
    if opening is None:
        return []
    left -= cost(groups[opening], measure)
    while left < 0 and first < len(groups):
        left += cost(groups[first], measure)
        first += 1
    if left < 0:
        return []
    return [one for group in (groups[opening], *groups[first:]) for one in group]


def besides(
    hits: Sequence[Hit],
    shown: Iterable[Said[M]],
    *,
    budget: int,
    measure: Measure = ESTIMATE,
    terms: Sequence[str] = (),
    preamble: str = "",
) -> Besides:
    """Returns what was found as one text, without the turns that messages say already.

    Args:
        hits: The hits, best first. To fill the budget, search with `budget + cost(shown)`: at most
            that much of what is found is said already.
        shown: The messages that are shown beside it. A message whose turn is not known hides turns
            that say the same.
        budget: Maximum number of tokens of the text, `OVERHEAD` included.
        measure: What the tokens are counted by.
        terms: What was asked for; a turn that must be cut is cut around these.
        preamble: A text to put before it, within the budget.
    """
    there = [*shown]
    turns = {one.turn for one in there if one.turn is not None}
    texts = {one.text.strip() for one in there if one.turn is None}
    rest = [
        replace(hit, turns=kept)
        for hit in hits
        if (
            kept := tuple(t for t in hit.turns if t.id not in turns and t.text.strip() not in texts)
        )
    ]
    spans = any(isinstance(hit.why, SpanWhy) for hit in rest)
    arrange = chronological if spans else list
    left = budget - OVERHEAD - measure.tokens(preamble)
    chosen = fit(rest, left, measure, terms=terms, arrange=arrange) if left > 0 else []
    while chosen:
        text = preamble + render(arrange(chosen))
        if price(text, measure) <= budget:
            return Besides(hits=tuple(chosen), text=text)
        chosen.pop()  # tokens do not quite add up where the preamble ends
    return Besides()


def _together(said: Sequence[Said[M]]) -> Iterator[list[Said[M]]]:
    """Yields messages in the smallest groups that hold tool calls with all their results."""
    units = [*_led(said)]
    pairs, torn = _pairs(units)
    until = dict(pairs)  # the last result of each unit's calls
    group, end = list[Said[M]](), -1
    for place, unit in enumerate(units):
        if place not in torn:
            group += unit
            end = max(end, until.get(place, place))
        if group and end <= place:
            yield group
            group = []


def _led(said: Iterable[Said[M]]) -> Iterator[list[Said[M]]]:
    """Yields each message with those that lead to it; what leads to nothing is left out."""
    unit = list[Said[M]]()
    for one in said:
        unit.append(one)
        if not one.leads:
            yield unit
            unit = []


def _pairs(units: Sequence[Sequence[Said[M]]]) -> tuple[list[tuple[int, int]], set[int]]:
    """Returns the places of calls and their results, ascending, and the places to leave out.

    A result belongs to the latest call of its id: some models use ids again.
    """
    waiting: dict[str, int] = {}
    pairs: set[tuple[int, int]] = set()
    torn: set[int] = set()
    for place, unit in enumerate(units):
        for name in sorted(name for one in unit for name in one.results):
            call = waiting.pop(name, None)
            if call is None:
                torn.add(place)
            else:
                pairs.add((call, place))
        for name in sorted(name for one in unit for name in one.calls):
            if name in waiting:
                torn.add(waiting[name])
            waiting[name] = place
    torn |= {*waiting.values()}
    # What is left out may be the counterpart of something else.
    while more := {p for pair in pairs if not torn.isdisjoint(pair) for p in pair} - torn:
        torn |= more
    return sorted(pairs), torn
