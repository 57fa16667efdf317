"""Late episodes on one thread: add, search, forget.

Only turns are embedded, each once. The other data that a search needs (`index.py`) is computed from
turns and vectors, and updated at the first search after turns were added. The `episode` of a turn
is assigned when the turn arrives; it is used in receipts and listings, not for ranking.

A search scores every turn (`relevance.py`), computes the value of each turn from its own score and
from what it inherits (`following.py`), packs the most valuable turns and explains why each span was
chosen (`explaining.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tsim import tokens
from tsim.engine.late.explaining import explain
from tsim.engine.late.following import follow
from tsim.engine.late.index import ThreadIndex
from tsim.engine.late.relevance import Asked, ask, resume
from tsim.engine.numbered import Numbered
from tsim.engine.protocol import Found, Host, Query
from tsim.rank import HEADING, ReentrySettings, SpanSettings, Values, gather, pack
from tsim.segment import ConfidenceSettings, LinkSettings, confidence
from tsim.state import Changes, EpisodeRow, ThreadState, TurnRow
from tsim.types import USER_ROLE, Forgotten, Hit, NewTurn, Receipt, Turn
from tsim.vectors import Vectors, best

# Windows per view that `views` reports.
SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class LateSettings:
    """All constants of the method."""

    boundary: ConfidenceSettings
    links: LinkSettings
    span: SpanSettings
    reentry: ReentrySettings

    @property
    def budget(self) -> int | None:
        """Default token budget of a search."""
        return self.span.budget

    @property
    def summarises(self) -> bool:
        """Whether episodes get a summary when they close."""
        return False

    def engine(self, dimension: int, state: ThreadState) -> "LateEngine":
        """Opens a thread."""
        return LateEngine(self, dimension, state)

    def arrange(self, hits: Sequence[Hit]) -> list[Hit]:
        """Sorts hits into the order used in a prompt: chronological."""
        return sorted(hits, key=lambda hit: [turn.id for turn in hit.turns])


class LateEngine(Numbered):
    """A thread indexed by vectors, words and boundary evidence."""

    def __init__(self, settings: LateSettings, dimension: int, state: ThreadState) -> None:
        """Loads a thread."""
        super().__init__()
        self.settings = settings
        self.index = ThreadIndex(
            dimension,
            state.turn_vectors,
            boundary=settings.boundary,
            links=settings.links,
            span=settings.span,
        )
        self._last_role = ""
        self.catch_up(replace(state, turn_vectors=state.turn_vectors[:0]))

    @property
    def known(self) -> tuple[int, int]:
        """The first turn id and the first episode id that this state does not have."""
        turn = self._turn_ids[-1] + 1 if self._turn_ids else 0
        return turn, self._turn_episodes[-1] + 1 if self._turn_episodes else 0

    def catch_up(self, state: ThreadState) -> None:
        """Adds what other writers have stored since this state was loaded."""
        self._counters = state.counters
        self._turn_ids += state.turn_ids
        self._turn_episodes += state.turn_episodes
        self.index.vectors.extend(state.turn_vectors)
        self._last_role = state.open_turns[-1].role if state.open_turns else ""

    def grow(
        self, turns: Sequence[NewTurn], vectors: Vectors, host: Host
    ) -> tuple[Changes, list[Receipt]]:
        """Adds turns, and begins an episode where a new topic seems to begin."""
        rows: list[TurnRow] = []
        receipts: list[Receipt] = []
        begun: list[EpisodeRow] = []
        all_read = self.index.unread == len(self.index)
        odds = self.index.extend(vectors)
        for new, vector, z in zip(turns, vectors, odds, strict=True):
            closed = None
            if self._begins(new.role, float(z)):
                closed = self._turn_episodes[-1] if self._turn_episodes else None
                begun.append(EpisodeRow(id=self._counters.episode, vector=None))
                self._counters = replace(self._counters, episode=self._counters.episode + 1)
            turn = Turn(id=self._counters.turn, role=new.role, text=new.text, at=new.at)
            episode = self._counters.episode - 1
            self._counters = replace(self._counters, turn=turn.id + 1)
            self._turn_ids.append(turn.id)
            self._turn_episodes.append(episode)
            self._last_role = new.role
            if all_read:
                self.index.read(turn)
            rows.append(TurnRow(turn=turn, episode=episode, vector=vector))
            receipts.append(Receipt(turn=turn.id, episode=episode, closed=closed))
        return Changes(turns=tuple(rows), episodes=tuple(begun)), receipts

    def search(self, query: Query, host: Host) -> list[Found]:
        """Scores all turns and packs the most valuable ones into spans."""
        self._bring_up_to_date(host)
        if not self._turn_ids:
            return []
        settings, span = self.settings, self.settings.span

        def texts_at(places: Sequence[int]) -> list[str]:
            return [turn.text for turn in host.turns([self._turn_ids[place] for place in places])]

        asked = ask(span, self.index, query)
        asked = resume(settings.reentry, span, self.index, asked, texts_at)
        worth = follow(span, self.index, asked)
        chosen = self._choose(asked, worth, tokens.words_within(query.budget or span.budget))
        found = explain(
            self.index,
            asked,
            worth,
            gather(chosen, span.max_skipped_turns),
            ids=self._turn_ids,
            episodes=self._turn_episodes,
        )
        return sorted(found, key=lambda one: (-one.score, one.turns))[: query.count]

    def views(self, query: Query, host: Host) -> Mapping[str, frozenset[int]]:
        """Returns the turns found by vectors alone and by words alone."""
        self._bring_up_to_date(host)
        if not self._turn_ids:
            return {}
        width = min(self.settings.span.window_turns, len(self._turn_ids))
        asked = ask(self.settings.span, self.index, query)
        views = {
            "dense": self.index.windows.scores(asked.similar),
            "words": self.index.postings.coverage(asked.weights, width),
        }
        return {
            name: frozenset(
                turn
                for start in best(scores, SHOWN)
                for turn in self._turn_ids[start : start + width]
            )
            for name, scores in views.items()
        }

    def beginnings(self, threshold: float, host: Host) -> list[int]:
        """Returns the turns that begin an episode, at a given confidence threshold."""
        self._bring_up_to_date(host)
        return [
            turn
            for place, turn in enumerate(self._turn_ids)
            if not place or self.index.confidence(place) >= threshold
        ]

    def forget(self, turns: Sequence[int], host: Host) -> tuple[Changes, Forgotten]:
        """Removes turns; no other stored data is derived from them."""
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

    def _begins(self, role: str, odds: float) -> bool:
        """Returns whether a new topic seems to begin with the newest turn."""
        if self._turn_episodes[-1:] != [self._counters.episode - 1]:
            return True  # the first turn, or the newest episode was forgotten
        after_user = role == USER_ROLE == self._last_role
        settings = self.settings.boundary
        return confidence(settings, odds, user_after_user=after_user) >= settings.cut_confidence

    def _bring_up_to_date(self, host: Host) -> None:
        """Indexes the turns added since the last search."""
        if self.index.unread < len(self._turn_ids):
            self.index.read_all(host.since(self._turn_ids[self.index.unread]))
        self.index.settle()

    def _choose(self, asked: Asked, worth: Values, budget: int) -> list[int]:
        """Returns the places of the turns chosen for a budget in words."""
        settings, words = self.settings.span, self.index.lengths
        best_turn = int(asked.relevant.argmax())
        if words[best_turn] + HEADING > budget:
            return [best_turn]  # too long even alone: the caller truncates it
        return pack(
            worth,
            words,
            budget=budget,
            long_turn_words=settings.long_turn_words,
            max_skipped=settings.max_skipped_turns,
            after_forgotten=self._after_forgotten(),
        )

    def _after_forgotten(self) -> frozenset[int]:
        """Returns the places of turns directly after forgotten ones."""
        if not self._turn_ids or self._turn_ids[-1] - self._turn_ids[0] + 1 == len(self._turn_ids):
            return frozenset()
        ids = np.array(self._turn_ids)
        return frozenset((np.flatnonzero(np.diff(ids) > 1) + 1).tolist())
