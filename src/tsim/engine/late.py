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
from tsim.rank import SpanSettings, Values, gather, pack, relevance, values, weigh
from tsim.segment import AFTER, BEFORE, ConfidenceSettings, confidence, confidences, log_odds
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
from tsim.vectors import Vector, Vectors, best

STEP = 1024
# Windows that a view is said to lead to.
SHOWN = 12


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
        self._last_role = state.open_turns[-1].role if state.open_turns else ""

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
        if not self._turn_ids:
            return []
        settings = self.settings.span
        asked = self._ask(query)
        words = np.frombuffer(self._words, dtype=np.uint32)
        worth = values(settings, asked.relevant, self._confidences(), words)
        chosen = pack(
            worth,
            words,
            budget=tokens.words_within(query.budget or settings.budget),
            long=settings.long,
            skip=settings.skip,
        )
        if not chosen:  # the budget is less than one turn: whoever asked cuts it down
            chosen = best(asked.relevant, 1)
        found = (self._found(span, asked, worth) for span in gather(chosen, settings.skip))
        return sorted(found, key=lambda one: (-one.score, one.turns))[: query.count]

    def views(self, query: Query, tools: Tools) -> Mapping[str, frozenset[int]]:
        """Tells which turns meaning alone and words alone lead to."""
        self._index(tools)
        if not self._turn_ids:
            return {}
        width = min(self.settings.span.width, len(self._turn_ids))
        asked = self._ask(query)
        views = {
            "dense": self._windows.scores(asked.similar),
            "words": self._postings.coverage(asked.weights, width),
        }
        return {
            name: frozenset(
                turn
                for start in best(scores, SHOWN)
                for turn in self._turn_ids[start : start + width]
            )
            for name, scores in views.items()
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
        if self._turn_episodes[-1:] != [self._counters.episode - 1]:
            return True  # the first turn, or the newest episode was forgotten
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

    def _ask(self, query: Query) -> "_Asked":
        """Scores every turn and every window."""
        settings = self.settings.span
        width = min(settings.width, len(self._turn_ids))
        similar = self._rows.scores(query.vector)
        weights = weigh(query.text, self._postings, power=settings.power, name=settings.name)
        share = np.float32(settings.words)
        own = similar + share * self._postings.coverage(weights)
        windows = self._windows.scores(similar) + share * self._postings.coverage(weights, width)
        relevant = relevance(settings, own, windows)
        return _Asked(similar=similar, weights=weights, relevant=relevant)

    def _confidences(self) -> Values:
        users = np.frombuffer(self._users, dtype=np.bool_)
        alone = np.append(False, users[1:] & users[:-1])
        odds = np.frombuffer(self._odds, dtype=np.float32)
        return confidences(self.settings.boundary, odds, alone)

    def _confidence(self, place: int) -> float:
        alone = bool(place and self._users[place] and self._users[place - 1])
        return confidence(self.settings.boundary, self._odds[place], alone=alone)

    def _found(self, span: Sequence[int], asked: "_Asked", worth: Values) -> Found:
        """Says what a span is and why it is there."""
        top = max(span, key=lambda place: (asked.relevant[place], -place))
        first, last = span[0], span[-1] + 1
        matched = (
            (term, self._postings.covered(term, weight, first, last - first))
            for term, weight in asked.weights.items()
        )
        words = sorted((one for one in matched if one[1]), key=lambda one: (-one[1], one[0]))
        dense = float(asked.similar[top])
        score = float(worth[top])
        return Found(
            episode=self._turn_episodes[top],
            turns=tuple(self._turn_ids[place] for place in span),
            score=score,
            why=SpanWhy(
                anchor=self._turn_ids[top],
                dense=dense,
                lexical=sum(share for _, share in words),
                share=float(asked.relevant[top] / asked.relevant.max()),
                words=tuple(words),
                opens=self._confidence(first) if first else 1.0,
                closes=self._confidence(last) if last < len(self._turn_ids) else 1.0,
                evidence=(
                    Evidence(term=Term.RAW, id=self._turn_ids[top], similarity=dense, points=score),
                ),
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Asked:
    """A question against every turn: cosines, the weights of its words, and both together."""

    similar: Vector
    weights: dict[str, float]
    relevant: Vector
