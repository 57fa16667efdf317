"""Late episodes on one thread: add, search, forget.

Each turn is embedded once, a long turn passage by passage, and so are its sentences and the
shortest run of turns around it, once that has closed. The other data that a search needs
(`index.py`) is computed from turns and vectors, longer runs included. The `episode` of a turn is
assigned when the turn arrives; it is used in receipts and listings, not for ranking.

A search scores every turn (`relevance.py`), computes the probability of every run and turn and from
it the value of each turn (`scoring.py`), packs the most valuable turns and explains why each span
was chosen (`explaining.py`).
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from tsim.assemble import chronological
from tsim.embed import Sentences
from tsim.engine.late.explaining import explain
from tsim.engine.late.forgetting import key, rerun, texts
from tsim.engine.late.index import Mark, ThreadIndex
from tsim.engine.late.pricing import prices
from tsim.engine.late.relevance import Asked, ask, resume
from tsim.engine.late.rows import Rows, rows_by_place
from tsim.engine.late.scoring import Observed, Scores, observe, score, value
from tsim.engine.numbered import Numbered
from tsim.engine.outline import Outline, Reply
from tsim.engine.protocol import Found, Host, Query
from tsim.filter import ALL
from tsim.index import distinct
from tsim.rank import Prices, ReentrySettings, SpanSettings, Values, gather, pack, parts
from tsim.rank.fitted import FittedSettings
from tsim.segment import ConfidenceSettings, LinkSettings, RunSettings
from tsim.state import (
    Changes,
    EpisodeRow,
    PassageRow,
    SentenceRow,
    SpanRow,
    ThreadState,
    TurnRow,
)
from tsim.tokens import Measure
from tsim.types import Forgotten, Hit, NewTurn, Receipt, Turn
from tsim.vectors import Vector, Vectors, best
from tsim.words import phrased

# Windows per view that `views` reports.
SHOWN = 12
# The probability above which a turn is more likely than all others together.
PROBABLY = 0.5
# When a search returns nothing by default: see `LateEngine._silent`.
HARDLY_COVERED, MANY_WORDS, DOUBT = 0.05, 1000, 0.2
# Sentences that take up about as much as a turn, which also has words, attributes and runs.
SENTENCES_PER_TURN = 2
# Pronouns that are written with a capital.
PRONOUNS = ("I", "I'm", "I've", "I'd", "I'll")
# Replies that are less likely are not reported.
HARDLY_A_REPLY = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class LateSettings:
    """All constants of the method."""

    boundary: ConfidenceSettings
    links: LinkSettings
    runs: RunSettings
    span: SpanSettings
    reentry: ReentrySettings
    fitted: FittedSettings

    @property
    def budget(self) -> int | None:
        """Default token budget of a search."""
        return self.span.budget

    @property
    def summarises(self) -> bool:
        """Whether episodes get a summary when they close."""
        return False

    @property
    def divides(self) -> bool:
        """Whether long turns are divided into passages."""
        return True

    @property
    def sentences(self) -> bool:
        """Whether the sentences of turns are embedded as well."""
        return self.span.sentence_weight > 0

    def asked(self, question: str) -> list[str]:
        """Returns the texts that a search for a question embeds: the question and its parts."""
        return [question, *parts(question)]

    def engine(self, dimension: int, state: ThreadState) -> "LateEngine":
        """Opens a thread."""
        return LateEngine(self, dimension, state)

    def arrange(self, hits: Sequence[Hit]) -> list[Hit]:
        """Sorts hits into the order used in a prompt: chronological."""
        return chronological(hits)


class LateEngine(Numbered):
    """A thread indexed by vectors, words and boundary evidence.

    Turn ids and episodes are kept by place: those of a divided turn are repeated.
    """

    def __init__(self, settings: LateSettings, dimension: int, state: ThreadState) -> None:
        """Loads a thread."""
        super().__init__()
        self.settings = settings
        rows = rows_by_place(state)
        self.index = self._indexed(dimension, rows.vectors, rows.starts)
        self._mark: Mark | None = None
        self._note(state, rows)

    @property
    def size(self) -> int:
        """The number of turns in RAM; a passage counts as a turn, and so do two sentences."""
        return super().size + len(self.index.sentences) // SENTENCES_PER_TURN

    @property
    def known(self) -> tuple[int, int]:
        """The first turn id and the first episode id that this state does not have."""
        turn = self._turn_ids[-1] + 1 if self._turn_ids else 0
        return turn, self._turn_episodes[-1] + 1 if self._turn_episodes else 0

    def catch_up(self, state: ThreadState) -> None:
        """Adds what other writers have stored since this state was loaded."""
        rows = rows_by_place(state)
        self.index.extend(rows.vectors, rows.starts)
        self._note(state, rows)

    def _note(self, state: ThreadState, rows: Rows) -> None:
        """Adds all but the vectors of a state."""
        self._counters = state.counters
        first = len(self._turn_ids)
        self._turn_ids += rows.turns
        self._turn_episodes += rows.episodes
        self._add_sentences(state.sentences, first)
        self._add_spans(state.spans)

    def _add_sentences(self, rows: Sequence[SentenceRow], first: int) -> None:
        """Adds the sentences of the turns from a place on."""
        places = self.index.passages.places(self._turn_ids, first, rows)
        self.index.sentences.extend(places, [row.vector for row in rows])

    def _add_spans(self, rows: Sequence[SpanRow]) -> None:
        # In the order in which they closed: sums over runs then have the same last bit.
        spans = sorted(rows, key=lambda row: (row.last, row.first))
        runs = [(self._place(row.first), self._place(row.last) + 1) for row in spans]
        self.index.runs.add(runs, [row.vector for row in spans])

    def grow(
        self,
        turns: Sequence[NewTurn],
        vectors: Vectors,
        host: Host,
        *,
        starts: Sequence[tuple[int, ...]] | None = None,
        sentences: Sentences | None = None,
    ) -> tuple[Changes, list[Receipt]]:
        """Adds turns, and begins an episode where a new topic seems to begin."""
        rows: list[TurnRow] = []
        passages: list[PassageRow] = []
        receipts: list[Receipt] = []
        begun: list[EpisodeRow] = []
        self._read(host)
        self._mark = self.index.mark()
        each = starts or [(0,)] * len(turns)
        odds = self.index.extend(vectors, [start for some in each for start in some])
        first, row = len(self._turn_ids), 0  # the first passage of all turns, and of the turn
        for new, some in zip(turns, each, strict=True):
            closed = None
            turn = new.numbered(self._counters.turn)
            if self._begins(turn, float(odds[row])):
                closed = self._turn_episodes[-1] if self._turn_episodes else None
                begun.append(EpisodeRow(id=self._counters.episode, vector=None))
                self._counters = replace(self._counters, episode=self._counters.episode + 1)
            episode = self._counters.episode - 1
            self._counters = replace(self._counters, turn=turn.id + 1)
            self._turn_ids += [turn.id] * len(some)
            self._turn_episodes += [episode] * len(some)
            self.index.read(turn)
            rows.append(TurnRow(turn=turn, episode=episode, vector=vectors[row]))
            passages += [
                PassageRow(turn=turn.id, start=start, vector=vectors[row + n])
                for n, start in enumerate(some)
                if start
            ]
            receipts.append(Receipt(turn=turn.id, episode=episode, closed=closed))
            row += len(some)
        said = _sentence_rows([one.turn.id for one in rows], sentences)
        self._add_sentences(said, first)
        changes = Changes(
            turns=tuple(rows),
            passages=tuple(passages),
            sentences=tuple(said),
            episodes=tuple(begun),
            spans=tuple(self._close_runs(host)),
        )
        return changes, receipts

    def undo(self) -> None:
        """Takes back the last `grow`."""
        if self._mark is not None:
            self.index.rewind(self._mark)
            self._cut_off(self._mark.places)

    def search(self, query: Query, host: Host) -> list[Found]:
        """Scores all eligible turns and packs the most valuable ones into spans."""
        self._bring_up_to_date(host)
        if not self.index.attributes.eligible(query.only).any():
            return []
        span = self.settings.span
        asked, seen = self.observe(query, host)
        scores = score(self.settings.fitted, seen)
        if query.least is None and self._empty(query, asked):
            return []
        worth = self._worth(query, scores, host)
        room = query.measure.room(query.budget or span.budget)
        costs = self.prices(query.measure, host, query.thread)
        chosen = self._too_long(scores, room, costs) or self.choose(worth, room, costs)
        found = explain(
            self.index,
            asked,
            scores,
            worth,
            gather(chosen, span.max_skipped_turns, self.index.passages.turns),
            ids=self._turn_ids,
            episodes=self._turn_episodes,
        )
        if query.least is None and self._silent(query.text, scores, found):
            return []
        kept = [one for one in found if one.score >= (query.least or 0.0)]
        return sorted(kept, key=lambda one: (-one.score, one.turns))[: query.count]

    def _worth(self, query: Query, scores: Scores, host: Host) -> Values:
        """Returns the value of every turn: the mean over the question and its parts, if any."""
        found = [value(self.index, scores)]
        for part in self.settings.asked(query.text)[1:]:
            _, seen = self.observe(replace(query, text=part), host)
            found.append(value(self.index, score(self.settings.fitted, seen)))
        return found[0] if len(found) == 1 else np.mean(found, axis=0)

    def warm(self, host: Host) -> None:
        """Indexes the turns that were added, and computes what is the same for all questions."""
        self._bring_up_to_date(host)
        self.index.warm()

    def observe(self, query: Query, host: Host) -> tuple[Asked, Observed]:
        """Scores every turn for a question and computes the features; some must be eligible."""
        settings, span = self.settings, self.settings.span
        self._bring_up_to_date(host)
        asked = ask(span, self.index, query, host.embed_query)
        closed = self.index.runs.vectors.scanning(asked.vector)  # while re-entries are looked for
        asked = resume(settings.reentry, span, self.index, asked)
        return asked, observe(span, self.index, asked, closed)

    def views(self, query: Query, host: Host) -> Mapping[str, frozenset[int]]:
        """Returns the turns found by vectors alone and by words alone."""
        self._bring_up_to_date(host)
        if not self._turn_ids:
            return {}
        width = min(self.settings.span.window_turns, len(self._turn_ids))
        asked = ask(self.settings.span, self.index, query, host.embed_query)
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
            if not self.index.passages[place][0]
            and (not place or self.index.confidence(place) >= threshold)
        ]

    def outline(self, host: Host) -> Outline:
        """Returns the shape of the thread; of a divided turn, that of its first passage."""
        self._bring_up_to_date(host)
        first = self.index.passages.starts == 0
        sure = self.index.gaps()[first]
        sure[:1] = 1.0
        return Outline(
            turns=np.array(self._turn_ids, dtype=np.int64)[first],
            episodes=np.array(self._turn_episodes, dtype=np.int64)[first],
            times=self.index.attributes.times[first],
            confidences=sure,
            interleaved=self.index.stretches.interleaved()[first],
            cut=self.settings.boundary.cut_confidence,
        )

    def replies(self, turns: range, host: Host) -> list[Reply]:
        """Returns which turns of a range may reply to which, where they are interleaved."""
        self._bring_up_to_date(host)
        low, high = self._place(turns.start), self._place(turns.stop)
        links = self.index.stretches.replies(low, high)
        likely: dict[tuple[int, int], float] = {}
        for row, lag in np.argwhere(links >= HARDLY_A_REPLY).tolist():
            pair = self._turn_ids[low + row], self._turn_ids[low + row - lag - 1]
            # Of a divided turn, each passage has replies of its own.
            if pair[0] != pair[1]:
                likely[pair] = max(likely.get(pair, 0.0), float(links[row, lag]))
        found = [Reply(turn=turn, to=to, probability=p) for (turn, to), p in likely.items()]
        return sorted(found, key=lambda one: (one.turn, -one.probability, one.to))

    def forget(
        self, turns: Sequence[int], host: Host
    ) -> tuple[Changes, Forgotten, "LateEngine | None"]:
        """Embeds the runs of the remaining turns anew where they change."""
        gone = {*turns}
        owner = dict(zip(self._turn_ids, self._turn_episodes, strict=True))
        left = {owner[turn] for turn in owner if turn not in gone}
        touched = sorted({owner[turn] for turn in gone})
        emptied = tuple(episode for episode in touched if episode not in left)
        changes = Changes(removed_turns=tuple(sorted(gone)), removed_episodes=emptied)
        if self.settings.runs.embedded:
            runs = rerun(self.index, self._turn_ids, gone, host.turns)
            added = _rows([*runs.added], host.embed([*runs.added.values()]))
            changes = replace(changes, removed_spans=tuple(runs.removed), spans=tuple(added))
        forgotten = Forgotten(
            turns=changes.removed_turns,
            episodes=emptied,
            rebuilt_episodes=tuple(episode for episode in touched if episode in left),
        )
        return changes, forgotten, self._without(gone, changes, host)

    def _without(self, gone: set[int], changes: Changes, host: Host) -> "LateEngine | None":
        """Returns the engine after changes; None if it was not read, and has to be loaded."""
        if self.index.unread < len(self._turn_ids):
            return None

        def at(places: Sequence[int]) -> dict[int, Turn]:
            turns = texts([self._turn_ids[place] for place in places], host.turns)
            return {self._place(turn.id): turn for turn in turns.values()}

        kept = [place for place, turn in enumerate(self._turn_ids) if turn not in gone]
        out = copy(self)
        out.index = self.index.kept(np.array(kept, dtype=np.int64), at)
        out._turn_ids = [self._turn_ids[place] for place in kept]
        out._turn_episodes = [self._turn_episodes[place] for place in kept]
        out._mark = None
        removed = {*changes.removed_spans}
        embedded = self.index.runs.embedded
        stored = {key(run, self._turn_ids): row for run, row in embedded.items()}
        spans = [
            SpanRow(first=first, last=last, vector=self.index.runs.vectors[row])
            for (first, last), row in stored.items()
            if (first, last) not in removed
        ]
        out._add_spans([*spans, *changes.spans])
        out._restore_runs()
        return out

    def _indexed(self, dimension: int, vectors: Vectors, starts: Sequence[int]) -> ThreadIndex:
        settings = self.settings
        return ThreadIndex(
            dimension,
            vectors,
            starts,
            boundary=settings.boundary,
            links=settings.links,
            runs=settings.runs,
            span=settings.span,
        )

    def _place(self, turn: int) -> int:
        """Returns the first place of a stored turn."""
        return bisect_left(self._turn_ids, turn)

    def _begins(self, turn: Turn, odds: float) -> bool:
        """Returns whether a new topic seems to begin with the newest turn."""
        if self._turn_episodes[-1:] != [self._counters.episode - 1]:
            return True  # the first turn, or the newest episode was forgotten
        return self.index.arriving(odds, turn) >= self.settings.boundary.cut_confidence

    def _read(self, host: Host) -> None:
        """Reads the texts of stored turns that have not been read."""
        if self.index.unread < len(self._turn_ids):
            self.index.read_all(host.since(self._turn_ids[self.index.unread]))
            self._restore_runs()

    def _close_runs(self, host: Host) -> list[SpanRow]:
        """Adds the runs that have closed; returns those to be stored."""
        runs = self.index.close_runs()
        vectors: Vectors | list[Vector] = []
        if runs:
            vectors = host.embed([self.index.text(run) for run in runs])
            self.index.runs.add(runs, vectors)
        self.index.runs.join()
        return _rows([key(run, self._turn_ids) for run in runs], vectors)

    def _restore_runs(self) -> None:
        """Joins runs from those that are stored.

        One that is not, because the constants of the boundary were others, has the mean of its
        turns' vectors.
        """
        closed, runs = self.index.runs, self.index.close_runs()
        closed.add(runs, [closed.mean(run) for run in runs])
        closed.join()

    def _bring_up_to_date(self, host: Host) -> None:
        """Indexes the turns added since the last search."""
        self._read(host)
        self.index.settle()

    def _empty(self, query: Query, asked: Asked) -> bool:
        """Returns whether a query says nothing, so that whatever is nearest would be noise.

        It consists of stop words or has no word at all, but may still name a speaker or something
        else ("the US"), or ask for whatever a filter leaves.
        """
        if distinct(query.text) or asked.naming.speaker is not None or query.only != ALL:
            return False
        words = [word.strip(".,!?…") for word in query.text.split()]
        return not any(word[:1].isupper() and word not in PRONOUNS for word in words[1:])

    def _silent(self, question: str, scores: Scores, found: Sequence[Found]) -> bool:
        """Returns whether nothing should be returned by default.

        Presence is fitted on our threads and may be far too low elsewhere, and to return nothing
        where there is an answer is worse than the opposite. So it counts little, unless the thread
        has many words, but hardly any of the question's. If these do not even read like a question,
        the best hit must be likely enough, too.
        """
        least = self.settings.fitted.min_relevance
        strange = scores.observed.asking.covered < HARDLY_COVERED
        if not (strange and self.index.postings.vocabulary >= MANY_WORDS):
            return scores.presence < DOUBT * least
        best = max((one.score for one in found), default=0.0)
        return scores.presence < least or (best < least and not phrased(question))

    def prices(self, measure: Measure, host: Host, thread: str = "") -> Prices:
        """Returns what the turns cost in a context; there must be turns, and all must be read."""
        return prices(measure, self.index, self._turn_ids, host, thread)

    def _too_long(self, scores: Scores, room: int, costs: Prices) -> list[int]:
        """Returns the turn that probably holds what was asked, if it exceeds the budget alone.

        Its value per word is low, so that packing would leave it out; the caller truncates it.
        """
        top = int(scores.turns.argmax())
        likely = scores.turns[top] > PROBABLY
        return [top] if likely and _exceeds(top, room, costs) else []

    def choose(self, worth: Values, room: int, costs: Prices) -> list[int]:
        """Returns the places of the turns chosen for a context of some size."""
        best_turn = int(worth.astype(np.float32).argmax())  # as `pack` compares them
        if _exceeds(best_turn, room, costs):
            return [best_turn]  # too long even alone: the caller cuts it
        return pack(
            worth,
            costs,
            room=room,
            max_skipped=self.settings.span.max_skipped_turns,
            after_forgotten=self._after_forgotten(),
            turns=self.index.passages.turns,
        )

    def _after_forgotten(self) -> frozenset[int]:
        """Returns the places of turns directly after forgotten ones."""
        count = len(self._turn_ids) - self.index.passages.further
        if not count or self._turn_ids[-1] - self._turn_ids[0] + 1 == count:
            return frozenset()
        ids = np.array(self._turn_ids)
        return frozenset((np.flatnonzero(np.diff(ids) > 1) + 1).tolist())


def _exceeds(place: int, room: int, costs: Prices) -> bool:
    """Returns whether a turn is too long even alone."""
    return costs.turns([place])[0] + costs.heading > room


def _sentence_rows(turns: Sequence[int], sentences: Sentences | None) -> list[SentenceRow]:
    """Returns the rows of the sentences of turns, given by their ids."""
    if sentences is None:
        return []
    keys = [
        (turn, start)
        for turn, starts in zip(turns, sentences.starts, strict=True)
        for start in starts
    ]
    return [
        SentenceRow(turn=turn, start=start, vector=vector)
        for (turn, start), vector in zip(keys, sentences.vectors, strict=True)
    ]


def _rows(keys: Sequence[tuple[int, int]], vectors: Vectors | Sequence[Vector]) -> list[SpanRow]:
    return [
        SpanRow(first=first, last=last, vector=vector)
        for (first, last), vector in zip(keys, vectors, strict=True)
    ]
