"""From a prepared query to hits: what an engine finds, with its turns, within the budget."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

from tsim.assemble import fit
from tsim.engine import Engine, Found, Host, Query, Settings
from tsim.index import distinct
from tsim.types import Hit, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What an engine found, before the budget.

    Attributes:
        hits: The hits, best first.
        owners: The episode of each of their turns.
    """

    hits: tuple[Hit, ...]
    owners: Mapping[int, int]

    def within(self, asked: Query, settings: Settings, *, named: bool = False) -> list[Hit]:
        """Returns the hits that fit into the budget of a query.

        Args:
            asked: The query.
            settings: The constants of the method.
            named: Whether the headings of the hits will name the thread.
        """
        chosen = fit(
            self.hits,
            asked.budget,
            asked.measure,
            terms=sorted(distinct(asked.text)),
            arrange=settings.arrange,
            named=named,
        )
        return [
            replace(hit, episodes=tuple(sorted({self.owners[turn.id] for turn in hit.turns})))
            for hit in chosen
        ]


def find(engine: Engine, asked: Query, host: Host, thread: str) -> Candidates:
    """Returns what an engine finds, with the turns as the host reads them."""
    found = engine.search(asked, host)
    ids = [turn for one in found for turn in one.turns]
    turns = {turn.id: turn for turn in host.turns(ids)}
    hits = tuple(
        Hit(
            episode=one.episode,
            turns=tuple(_showing(turns, one)),
            score=one.score,
            why=one.why,
            relevance=one.relevance,
            thread=thread,
        )
        for one in found
    )
    return Candidates(hits=hits, owners={turn: engine.episode_of(turn) for turn in ids})


def _showing(turns: Mapping[int, Turn], found: Found) -> Iterator[Turn]:
    """Yields the turns of a span, each with the parts of it that are shown."""
    for turn, shown in zip_longest(found.turns, found.shown):
        if turn in turns:
            yield turns[turn] if shown is None else replace(turns[turn], shown=shown)
