"""Late episodes: nothing is cut at ingest; every span competes when a question comes.

A turn is embedded once and nothing else is. What else a search needs (words, lengths of turns, sums
of windows, boundary evidence) follows from turns and vectors and is caught up with at the first
search after they came. The `episode` of a turn is the cut as it looked when the turn arrived: for
receipts and lists; ranking does not use it.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tsim import tokens
from tsim.assemble import line
from tsim.engine.protocol import Found, Query, Tools
from tsim.index import Postings, Rows, Windows
from tsim.rank import Peak, SpanSettings, gather, pack, peaks, values, weigh
from tsim.segment import AFTER, BEFORE, ConfidenceSettings, confidence, log_odds
from tsim.state import Changes, Counters, EpisodeRow, ThreadState, TurnRow
from tsim.types import (
    USER_ROLE,
    Evidence,
    Forgotten,
    NewTurn,
    Receipt,
    SpanWhy,
    Term,
    Turn,
)
from tsim.vectors import Vectors, best

STEP = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LateSettings:
    """All constants of the method."""

    boundary: ConfidenceSettings
    span: SpanSettings


class LateEngine:
    """A thread as turns, words and boundary evidence."""

    def __init__(self, settings: LateSettings, dimension: int, state: ThreadState) -> None:
        """Loads a thread."""
        self.settings = settings
        self._turn_ids: list[int] = []
        self._turn_episodes: list[int] = []
        self._rows = Rows(dimension, state.turn_vectors)
        self._windows = Windows(self._rows, settings.span.width)
        self._postings = Postings()
        self._words = array("I")
        self._users = bytearray()
        self._odds = array("f")
        self._last_role = ""
        self.catch_up(replace(state, turn_vectors=state.turn_vectors[:0]))

    @property
    def counters(self) -> Counters:
        """The ids that will be given next."""
        return self._counters

    @property
    def known(self) -> tuple[int, int]:
        """The first turn and the first episode that this state does not hold."""
        turn = self._turn_ids[-1] + 1 if self._turn_ids else 0
        return turn, self._turn_episodes[-1] + 1 if self._turn_episodes else 0

    def catch_up(self, state: ThreadState) -> None:
        """Takes in what others have added since this state was loaded."""
        self._counters = state.counters
        self._turn_ids += state.turn_ids
        self._turn_episodes += state.turn_episodes
        self._rows.extend(state.turn_vectors)
        if state.open_turns:
            self._last_role = state.open_turns[-1].role

    def grow(
        self, turns: Sequence[NewTurn], vectors: Vectors, tools: Tools
    ) -> tuple[Changes, list[Receipt]]:
        """Adds turns, and looks where a new topic seems to begin."""
        rows: list[TurnRow] = []
        receipts: list[Receipt] = []
        begun: list[EpisodeRow] = []
        indexed = len(self._postings) == len(self._turn_ids)
        first = len(self._rows)
        self._rows.extend(vectors)
        for place, (new, vector) in enumerate(zip(turns, vectors, strict=True), first):
            closed = None
            if self._begins(place, new.role):
                closed = self._turn_episodes[-1] if self._turn_episodes else None
                begun.append(EpisodeRow(id=self._counters.episode, vector=None))
                self._counters = replace(self._counters, episode=self._counters.episode + 1)
            turn = Turn(id=self._counters.turn, role=new.role, text=new.text, at=new.at)
            episode = self._counters.episode - 1
            self._counters = replace(self._counters, turn=turn.id + 1)
            self._turn_ids.append(turn.id)
            self._turn_episodes.append(episode)
            self._last_role = new.role
            if indexed:
                self._read(turn)
            rows.append(TurnRow(turn=turn, episode=episode, vector=vector))
            receipts.append(Receipt(turn=turn.id, episode=episode, closed=closed))
        return Changes(turns=tuple(rows), episodes=tuple(begun)), receipts

    def skip_to(self, turn: int) -> None:
        """Leaves out turn ids: the next turn gets this one."""
        self._counters = replace(self._counters, turn=max(turn, self._counters.turn))

    def search(self, query: Query, tools: Tools) -> list[Found]:
        """Finds where the question points and packs what belongs there."""
        self._index(tools)
        settings = self.settings.span
        found, weights = self._peaks(query)
        worth = values(settings, found, len(self._turn_ids), self._confidence)
        chosen = pack(
            worth,
            self._words.__getitem__,
            budget=tokens.words_within(query.budget or settings.budget),
            long=settings.long,
            skip=settings.skip,
        )
        if not chosen and found:  # the budget is less than one turn: whoever asked cuts it down
            chosen = [found[0].anchor]
        ranked = sorted(
            (self._found(span, found, worth, weights) for span in gather(chosen, settings.skip)),
            key=lambda one: (-one.score, one.turns),
        )
        return ranked[: query.count]

    def views(self, query: Query, tools: Tools) -> Mapping[str, frozenset[int]]:
        """Tells which turns meaning alone and words alone lead to."""
        self._index(tools)
        settings = self.settings.span
        weights = weigh(query.text, self._postings, power=settings.power, name=settings.name)
        width = min(settings.width, len(self._turn_ids))
        dense = self._windows.scores(self._rows.scores(query.vector))
        lexical = self._postings.coverage(weights, width) if width else dense
        return {
            name: frozenset(
                turn
                for start in best(scores, settings.peaks)
                for turn in self._turn_ids[start : start + width]
            )
            for name, scores in (("dense", dense), ("words", lexical))
        }

    def beginnings(self, threshold: float, tools: Tools) -> list[int]:
        """Returns the turns that begin an episode, at a threshold of confidence."""
        self._index(tools)
        return [
            turn
            for place, turn in enumerate(self._turn_ids)
            if not place or self._confidence(place) >= threshold
        ]

    def holds(self, turns: Sequence[int]) -> bool:
        """Tells whether all these turns are known."""
        return {*turns} <= {*self._turn_ids}

    def forget(self, turns: Sequence[int], tools: Tools) -> tuple[Changes, Forgotten]:
        """Removes turns; nothing else was made of them."""
        gone = {*turns}
        owner = dict(zip(self._turn_ids, self._turn_episodes, strict=True))
        left = {owner[turn] for turn in owner if turn not in gone}
        touched = sorted({owner[turn] for turn in gone})
        emptied = tuple(episode for episode in touched if episode not in left)
        changes = Changes(removed_turns=tuple(sorted(gone)), removed_episodes=emptied)
        return changes, Forgotten(
            turns=changes.removed_turns,
            episodes=emptied,
            rebuilt_episodes=tuple(episode for episode in touched if episode in left),
        )

    def _begins(self, place: int, role: str) -> bool:
        """Tells whether a new topic seems to begin with the newest turn."""
        if not place:
            return True
        first = max(0, place - BEFORE)
        odds = log_odds(self.settings.boundary, self._rows.take(range(first, place + 1)))
        alone = role == USER_ROLE == self._last_role
        settings = self.settings.boundary
        return confidence(settings, float(odds[-1]), alone=alone) >= settings.cut

    def _index(self, tools: Tools) -> None:
        """Catches up with what was added since the last search."""
        count = len(self._turn_ids)
        done = len(self._postings)
        if done < count:
            for turn in tools.since(self._turn_ids[done]):
                if len(self._postings) < count:
                    self._read(turn)
        # The newest gap is not settled: it is looked at again when the turn behind it has come.
        del self._odds[max(0, len(self._odds) - AFTER + 1) :]
        for first in range(len(self._odds), count, STEP):
            last = min(count, first + STEP)
            low, high = max(0, first - BEFORE), min(count, last + AFTER - 1)
            rows = self._rows.take(np.arange(low, high))
            odds = log_odds(self.settings.boundary, rows)[first - low : last - low]
            self._odds.frombytes(odds.tobytes())

    def _read(self, turn: Turn) -> None:
        self._postings.append(turn.text)
        self._words.append(len(line(turn).split()))
        self._users.append(turn.role == USER_ROLE)

    def _peaks(self, query: Query) -> tuple[tuple[Peak, ...], dict[str, float]]:
        settings = self.settings.span
        width = min(settings.width, len(self._turn_ids))
        if not width:
            return (), {}
        similar = self._rows.scores(query.vector)
        weights = weigh(query.text, self._postings, power=settings.power, name=settings.name)
        share = np.float32(settings.words)
        scores = self._windows.scores(similar) + share * self._postings.coverage(weights, width)
        relevance = similar + share * self._postings.coverage(weights)
        return peaks(settings, scores, relevance, width), weights

    def _confidence(self, place: int) -> float:
        alone = bool(place and self._users[place] and self._users[place - 1])
        return confidence(self.settings.boundary, self._odds[place], alone=alone)

    def _found(
        self,
        span: Sequence[int],
        found: Sequence[Peak],
        worth: Mapping[int, float],
        weights: Mapping[str, float],
    ) -> Found:
        """Says what a span is and why it is there."""
        top = max(span, key=lambda place: (worth.get(place, 0.0), -place))
        peak = min(found, key=lambda one: (one.anchor not in span, abs(one.anchor - top)))
        words = self._matched(peak, weights)
        lexical = sum(share for _, share in words)
        anchor = self._turn_ids[peak.anchor]
        dense = peak.score - self.settings.span.words * lexical
        last = span[-1] + 1
        return Found(
            episode=self._turn_episodes[top],
            turns=tuple(self._turn_ids[place] for place in span),
            score=worth.get(top, 0.0),
            why=SpanWhy(
                anchor=anchor,
                dense=dense,
                lexical=lexical,
                share=peak.share,
                words=words,
                opens=self._confidence(span[0]) if span[0] else 1.0,
                closes=self._confidence(last) if last < len(self._turn_ids) else 1.0,
                evidence=(Evidence(term=Term.RAW, id=anchor, similarity=dense, points=peak.share),),
            ),
        )

    def _matched(self, peak: Peak, weights: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
        """The query's words in a window, with what each adds to the coverage."""
        width = min(self.settings.span.width, len(self._turn_ids))
        shares = (
            (term, self._postings.covered(term, weight, peak.start, width))
            for term, weight in weights.items()
        )
        return tuple(sorted((s for s in shares if s[1]), key=lambda s: (-s[1], s[0])))
