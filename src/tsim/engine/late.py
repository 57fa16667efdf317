"""Late episodes: nothing is cut at ingest; every span competes when a question comes.

A turn is embedded once and nothing else is. What else a search needs (words, lengths of turns, sums
of windows, boundary evidence) follows from turns and vectors and is caught up with at the first
search after they came. The `episode` of a turn is the cut as it looked when the turn arrived: for
receipts and lists; ranking does not use it.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tsim import tokens
from tsim.assemble import line
from tsim.engine.numbered import Numbered
from tsim.engine.protocol import Found, Query, Tools
from tsim.engine.stretches import Stretches
from tsim.index import Postings, Rows, Windows
from tsim.rank import (
    BESIDE,
    FAR,
    HEADING,
    Paths,
    ReentrySettings,
    SpanSettings,
    Values,
    clues,
    extent,
    gather,
    inherited,
    links,
    pack,
    paths,
    relevance,
    told,
    values,
    weigh,
)
from tsim.segment import (
    AFTER,
    BEFORE,
    ConfidenceSettings,
    LinkSettings,
    confidence,
    confidences,
    log_odds,
)
from tsim.state import Changes, EpisodeRow, ThreadState, TurnRow
from tsim.types import (
    USER_ROLE,
    Evidence,
    Forgotten,
    Hit,
    NewTurn,
    Receipt,
    SpanWhy,
    Term,
    Turn,
)
from tsim.vectors import Vector, Vectors, best

# Words with what they tell, most first.
Told: TypeAlias = tuple[tuple[str, float], ...]
STEP = 1024
TINY = 1e-9
# What a turn of a mixed stretch is worth that no anchor's conversation reaches.
STRAY = 1e-3
# Windows that a view is said to lead to.
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
        """Tokens that a search may return where nobody says."""
        return self.span.budget

    @property
    def summarises(self) -> bool:
        """Whether episodes get a summary when they close."""
        return False

    def engine(self, dimension: int, state: ThreadState) -> "LateEngine":
        """Opens a thread."""
        return LateEngine(self, dimension, state)

    def arrange(self, hits: Sequence[Hit]) -> list[Hit]:
        """Puts hits in the order of a prompt: as they were said."""
        return sorted(hits, key=lambda hit: [turn.id for turn in hit.turns])


class LateEngine(Numbered):
    """A thread as turns, words and boundary evidence."""

    def __init__(self, settings: LateSettings, dimension: int, state: ThreadState) -> None:
        """Loads a thread."""
        super().__init__()
        self.settings = settings
        self._rows = Rows(dimension, state.turn_vectors)
        self._windows = Windows(self._rows, settings.span.width)
        self._postings = Postings()
        self._words = array("I")
        self._users = bytearray()
        self._odds = array("f")
        self._last_role = ""
        self._indexed = 0  # turns, at the last search
        self._paths: Paths | None = None
        self._stretches = Stretches(settings.links, self._rows, self._users)
        self.catch_up(replace(state, turn_vectors=state.turn_vectors[:0]))

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
        odds = self._arriving(vectors)
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
            if indexed:
                self._read(turn)
            rows.append(TurnRow(turn=turn, episode=episode, vector=vector))
            receipts.append(Receipt(turn=turn.id, episode=episode, closed=closed))
        return Changes(turns=tuple(rows), episodes=tuple(begun)), receipts

    def search(self, query: Query, tools: Tools) -> list[Found]:
        """Finds where the question points and packs what belongs there."""
        self._index(tools)
        if not self._turn_ids:
            return []
        settings = self.settings.span
        words = np.frombuffer(self._words, dtype=np.uint32)
        asked = self._resume(self._ask(query), words, tools)
        worth = values(settings, asked.relevant, self._along(words))
        self._follow(asked, words, worth)
        budget = tokens.words_within(query.budget or settings.budget)
        chosen = [int(asked.relevant.argmax())]
        # A turn that alone is too long, and most relevant, is cut down by whoever asked.
        if words[chosen[0]] + HEADING <= budget:
            chosen = pack(
                worth,
                words,
                budget=budget,
                long=settings.long,
                skip=settings.skip,
                torn=self._torn(),
            )
        spans = gather(chosen, settings.skip)
        tops = [span[int(asked.relevant[list(span)].argmax())] for span in spans]
        again = self._shared(asked.resumed, tops) if asked.resumed else {}
        found = [
            self._found(span, top, asked, float(worth[top]), again.get(top))
            for span, top in zip(spans, tops, strict=True)
        ]
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

    def _arriving(self, vectors: Vectors) -> Vector:
        """Takes in vectors; returns the odds of the gap before each, as it looks on arrival."""
        first = len(self._rows)
        self._rows.extend(vectors)
        low = max(0, first - BEFORE)
        rows = self._rows.take(np.arange(low, len(self._rows)))
        return log_odds(self.settings.boundary, rows, arrived=False)[first - low :]

    def _begins(self, role: str, odds: float) -> bool:
        """Tells whether a new topic seems to begin with the newest turn."""
        if self._turn_episodes[-1:] != [self._counters.episode - 1]:
            return True  # the first turn, or the newest episode was forgotten
        alone = role == USER_ROLE == self._last_role
        settings = self.settings.boundary
        return confidence(settings, odds, alone=alone) >= settings.cut

    def _index(self, tools: Tools) -> None:
        """Catches up with what was added since the last search."""
        count = len(self._turn_ids)
        if self._indexed == count:
            return
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
        self._stretches.catch_up()
        self._indexed = count

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
        share = np.float32(settings.words * told(weights, self._postings) ** settings.telling)
        own = similar + share * self._postings.coverage(weights)
        windows = self._windows.scores(similar) + share * self._postings.coverage(weights, width)
        relevant = relevance(settings, own, windows)
        if relevant.max() <= 0:  # nothing speaks for any turn, but some still say more than others
            relevant -= relevant.min()
        top = max(float(relevant.max()), TINY)
        return _Asked(similar=similar, weights=weights, own=own, relevant=relevant, best=top)

    def _resume(self, asked: "_Asked", words: npt.NDArray[np.uint32], tools: Tools) -> "_Asked":
        """Raises the relevance of turns where the topic of the best turn comes up again."""
        settings = self.settings.reentry
        if not settings.most:
            return asked
        anchor = int(asked.relevant.argmax())
        episode = self._episode(anchor)
        turns = tools.turns([self._turn_ids[place] for place in episode])
        short = np.minimum(1, self.settings.span.long / words.astype(np.float32))
        texts = ((turn.text, float(short[at])) for turn, at in zip(turns, episode, strict=True))
        found = clues(settings, texts, self._postings, asked.weights.keys())
        mass = self._postings.coverage(found) * short
        mass[episode] = 0
        link = links(settings, mass)
        link[episode] = 0
        raised = asked.best * link ** (1 / self.settings.span.sharp)
        # Relevance may be negative: where nothing links, 0 is no reason to come along.
        again = (link > 0) & (raised > asked.relevant)
        return replace(
            asked,
            relevant=np.where(again, raised, asked.relevant),
            resumed=_Resumed(anchor=anchor, episode=episode, clues=found, places=again),
        )

    def _episode(self, anchor: int) -> list[int]:
        """The places that seem to belong to the topic of a turn, in order."""
        settings = self.settings.reentry
        if not self._stretches.mixed_at(anchor):
            low = max(0, anchor - FAR)
            near = self._confidences(low, anchor + FAR + 1)
            return [low + place for place in extent(settings, near, anchor - low)]
        company = self._stretches.company([anchor], self.settings.span.reach)
        places: list[int] = company.places[company.member >= settings.kept].tolist()
        return places

    def _follow(self, asked: "_Asked", words: npt.NDArray[np.uint32], worth: Values) -> None:
        """Raises the worth of turns whose interleaved conversation the question points to."""
        mixed = self._stretches.mixed()
        if not mixed.any():
            return
        settings = self.settings.span
        worth[mixed] *= STRAY  # along the stream, nothing is inherited there
        places = best(asked.relevant, settings.anchors)
        anchors = [place for place in places if mixed[place]]
        if not anchors:
            return
        around = self._stretches.company(anchors, settings.reach)
        inside = around.inside
        at = np.where(inside, around.places, 0)
        share = asked.relevant[anchors].astype(np.float64) / asked.best
        own = asked.own[at].astype(np.float64) / max(float(asked.own.max()), TINY)
        found = inherited(settings, share, around.member, words[at].astype(np.float64), own)
        np.maximum.at(worth, at[inside], found[inside])

    def _torn(self) -> frozenset[int]:
        """The places before which turns were forgotten."""
        if not self._turn_ids or self._turn_ids[-1] - self._turn_ids[0] + 1 == len(self._turn_ids):
            return frozenset()
        ids = np.array(self._turn_ids)
        return frozenset((np.flatnonzero(np.diff(ids) > 1) + 1).tolist())

    def _along(self, words: npt.NDArray[np.uint32]) -> Paths:
        """What is left of a value along the thread, as long as no turn is added."""
        if self._paths is None or len(self._paths.onward) != len(words):
            self._paths = paths(self.settings.span, self._confidences(0, len(words)), words)
        return self._paths

    def _confidences(self, low: int, high: int) -> Values:
        """Of a new topic before each turn from one place to before another."""
        users = np.frombuffer(self._users, dtype=np.bool_)[low:high]
        before = bool(low and self._users[low - 1])
        alone = users & np.append(before, users[:-1])
        odds = np.frombuffer(self._odds, dtype=np.float32)[low:high]
        return confidences(self.settings.boundary, odds, alone)

    def _confidence(self, place: int) -> float:
        alone = bool(place and self._users[place] and self._users[place - 1])
        return confidence(self.settings.boundary, self._odds[place], alone=alone)

    def _found(
        self, span: Sequence[int], top: int, asked: "_Asked", score: float, again: Told | None
    ) -> Found:
        """Says what a span is and why it is there: what it grew from, and clues if it resumes."""
        first, last = span[0], span[-1] + 1
        words = self._heaviest(asked.weights, span)
        dense = float(asked.similar[top])
        return Found(
            episode=self._turn_episodes[top],
            turns=tuple(self._turn_ids[place] for place in span),
            score=score,
            why=SpanWhy(
                anchor=self._turn_ids[top],
                dense=dense,
                lexical=sum(share for _, share in words),
                share=min(1.0, max(0.0, float(asked.relevant[top]) / asked.best)),
                words=words,
                resumes=self._turn_ids[asked.resumed.anchor] if asked.resumed and again else None,
                clues=again or (),
                opens=self._confidence(first) if first else 1.0,
                closes=self._confidence(last) if last < len(self._turn_ids) else 1.0,
                evidence=(
                    Evidence(term=Term.RAW, id=self._turn_ids[top], similarity=dense, points=score),
                ),
            ),
        )

    def _shared(self, resumed: "_Resumed", tops: Sequence[int]) -> dict[int, Told]:
        """The clues that raised some turns: their own, and those of the turns that speak for them.

        Returns:
            Of each turn that was raised, its clues with what they tell, most first.
        """
        raised = [top for top in tops if resumed.places[top]]
        near = {place for top in raised for place in range(top - BESIDE, top + BESIDE + 1)}
        places = sorted(place for place in near.difference(resumed.episode) if place >= 0)
        standing = self._postings.standing(resumed.clues, places) if raised else []
        shared: dict[int, Told] = {}
        for top in raised:
            times: Counter[str] = Counter()
            for term, place, count in standing:
                if abs(place - top) <= BESIDE:
                    times[term] += count
            shared[top] = _most_first((w, resumed.clues[w] * n / (n + 1)) for w, n in times.items())
        return shared

    def _heaviest(self, weights: Mapping[str, float], span: Sequence[int]) -> Told:
        """The terms of a span that weigh something, with what they add, most first."""
        found = ((term, self._postings.covered(term, weights[term], span)) for term in weights)
        return _most_first(one for one in found if one[1])


def _most_first(found: Iterable[tuple[str, float]]) -> Told:
    return tuple(sorted(found, key=lambda one: (-one[1], one[0])))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Resumed:
    """Where the topic of the best turn comes up again.

    Attributes:
        anchor: The place of that turn.
        episode: The places of its topic around it.
        clues: The rare words of its episode, with what each tells.
        places: Of each turn, whether it is more relevant for them than by itself.
    """

    anchor: int
    episode: list[int]
    clues: dict[str, float]
    places: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Asked:
    """A question against every turn.

    Attributes:
        similar: Cosines.
        weights: What the question's words weigh.
        own: Cosine and words together.
        relevant: The same with the best window around.
        best: The highest of these.
        resumed: Where the topic comes up again, once that was looked for.
    """

    similar: Vector
    weights: dict[str, float]
    own: Vector
    relevant: Vector
    best: float
    resumed: "_Resumed | None" = None
