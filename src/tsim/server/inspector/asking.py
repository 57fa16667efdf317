"""A question to a thread: what was found, what nearly was, and the context that a model gets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tsim.engine import Query
from tsim.server.inspector.fields import Fields
from tsim.server.nearly import others
from tsim.thread import CONTEXT_BUDGET, Thread
from tsim.types import Hit, SpanWhy

# How much larger the budget is in which near misses are looked for, and how many are shown.
WIDER, NEARLY = 3, 8

Find = Callable[[Query], list[Hit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """Turns that were not returned.

    Attributes:
        hit: The turns, and why they would have been returned.
        unlikely: Whether they were left out because they are too unlikely to hold what was asked;
            otherwise they did not fit into the budget.
    """

    hit: Hit
    unlikely: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a thread says to a question.

    Attributes:
        hits: The hits, best first.
        nearly: What nearly was one.
        context: The text that a model gets.
        tokens: Its number of tokens.
        budget: The most it may have.
        silent: Whether nothing was returned because nothing seems to hold what was asked.
    """

    hits: tuple[Hit, ...]
    nearly: tuple[Near, ...]
    context: str
    tokens: int
    budget: int
    silent: bool

    @property
    def turns(self) -> tuple[int, ...]:
        """The ids of all turns of the hits, ascending."""
        return tuple(sorted({turn.id for hit in self.hits for turn in hit.turns}))


def prepared(thread: Thread, fields: Fields, *, most: int) -> Query:
    """Returns the question in the fields of a form.

    Args:
        thread: The thread that is asked.
        fields: The fields.
        most: The largest budget.

    Raises:
        InputError: It is empty, or a field is out of range.
    """
    roles = [role.strip() for role in fields.text("roles").split(",") if role.strip()]
    return thread.prepare(
        fields.text("query"),
        budget=fields.whole("budget", CONTEXT_BUDGET, most=most),
        min_relevance=fields.share("min_relevance"),
        since=fields.text("since") or None,
        until=fields.text("until") or None,
        roles=roles or None,
        now=fields.text("now") or None,
    )


def answer(find: Find, write: Callable[[Sequence[Hit]], str], asked: Query) -> Answer:
    """Asks a question, and again for what nearly was found.

    Args:
        find: Answers a query.
        write: Writes hits as the text for a prompt.
        asked: The query.
    """
    hits = find(asked)
    context = write(hits)
    # Without a bound, and with something found, nothing was left out as too unlikely.
    bounded = asked.least is not None or not hits
    anyway = find(replace(asked, least=0.0)) if bounded else hits
    budget = asked.budget or CONTEXT_BUDGET
    more = find(replace(asked, least=0.0, budget=WIDER * budget))
    seen = {turn.id for hit in hits for turn in hit.turns}
    nearly: list[Near] = []
    for some, unlikely in ((anyway, True), (more, False)):
        nearly += [Near(hit=hit, unlikely=unlikely) for hit in others(some, seen)]
        seen |= {turn.id for hit in some for turn in hit.turns}
    return Answer(
        hits=tuple(hits),
        nearly=tuple(nearly[:NEARLY]),
        context=context,
        tokens=asked.measure.tokens(context),
        budget=budget,
        silent=not hits and bool(anyway) and asked.least is None,
    )


def resumptions(hits: Sequence[Hit]) -> list[tuple[int, int]]:
    """Returns from which turn to which a topic resumes."""
    return [
        (hit.why.resumes, hit.why.anchor)
        for hit in hits
        if isinstance(hit.why, SpanWhy)
        and hit.why.resumes is not None
        # A span may have the turn whose topic it takes up.
        and hit.why.resumes not in {turn.id for turn in hit.turns}
    ]
