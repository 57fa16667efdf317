"""The data that a search needs about turns: vectors, words, lengths, boundary evidence.

All of it is computed from the turns and their vectors, and addressed by place: the position of a
passage among the stored ones, from 0. A turn is one passage, unless it is long (`passages.py`);
what is said about turns below holds for the passages of such a turn. Vectors are added with the
turns; texts may be read later, before the next search.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tsim.assemble import line
from tsim.engine.attributes import Attributes
from tsim.engine.late.closed import ClosedMark, ClosedRuns
from tsim.engine.late.growing import Growing
from tsim.engine.late.passages import Passages, Range
from tsim.engine.late.runs import RunTable
from tsim.engine.late.sentences import Sentences
from tsim.engine.stretches import Stretches
from tsim.index import DenseIndex, Postings, Ranges, Speakers, WindowIndex
from tsim.index.taking import Places, taken
from tsim.rank import Paths, SpanSettings, Values, paths
from tsim.rank.fitted import Columns
from tsim.segment import (
    AFTER,
    BEFORE,
    ConfidenceSettings,
    Cues,
    LinkSettings,
    Run,
    RunSettings,
    asks,
    confidence,
    confidences,
    cue_odds,
    cues,
    log_odds,
)
from tsim.tokens import ESTIMATE, WORDS, Measure
from tsim.types import Turn
from tsim.vectors import Vector, Vectors
from tsim.words import count

STEP = 1024
# Length, relative to the shortest long turn, from which a turn is no longer penalised for more.
MOST_EXCESS = 10.0
# Words that a turn costs in a context besides its own line: a heading, if it is alone.
OVERHEAD = 1.0
# A divided turn of no more words competes as a whole, too: all of it may be about a question, and
# it fits into a context. Longer than runs, since nothing is embedded for it.
WHOLE_WORDS = 256
# Texts kept for runs that have not closed yet; more than one batch of turns and the longest run.
RECENT = 1024

Made = TypeVar("Made")
Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mark:
    """A state of an index that it can be taken back to.

    Attributes:
        places: The number of places.
        sentences: The number of sentences.
        runs: The runs.
        recent: The texts kept for those that are open.
        last: What was seen in the newest turn.
        dated: Whether the time of any turn was known.
    """

    places: int
    sentences: int
    runs: ClosedMark
    recent: dict[int, str]
    last: Cues | None
    dated: bool


def lasting(make: Callable[["ThreadIndex"], Made]) -> Callable[["ThreadIndex"], Made]:
    """Keeps what a method returns until turns or runs are added."""
    name = make.__name__

    @wraps(make)
    def kept(index: "ThreadIndex") -> Made:
        now = len(index), len(index.runs)
        if name not in index._kept or index._kept[name][0] != now:
            index._kept[name] = now, make(index)
        found: Made = index._kept[name][1]
        return found

    return kept


def growing(
    make: Callable[["ThreadIndex", int, int], npt.NDArray[Number]],
) -> Callable[["ThreadIndex"], npt.NDArray[Number]]:
    """Keeps the values of all places that a method computes from one place up to another.

    When turns are added, those of new places are computed, and of the place before them, since its
    gap has become final.
    """
    name = make.__name__

    @wraps(make)
    def kept(index: "ThreadIndex") -> npt.NDArray[Number]:
        values = index._grown.setdefault(name, Growing(AFTER - 1))
        return values.upto(len(index), partial(make, index))

    return kept


class ThreadIndex:
    """The search index of a growing thread.

    Attributes:
        vectors: One row per place.
        passages: Which part of its turn is at each place.
        sentences: The sentences of the turns that have several.
        windows: Scores of the windows of turns.
        postings: The words of the turns whose texts have been read.
        speakers: The speakers of the same turns, and how they talk.
        attributes: What filters look at, for the same turns.
        runs: The closed runs.
        dated: Whether the time of any turn is known.
        stretches: Which parts of the thread are interleaved, and which turns reply to which there.
        run_settings: Constants of runs.
    """

    def __init__(
        self,
        dimension: int,
        vectors: Vectors,
        starts: Sequence[int],
        *,
        boundary: ConfidenceSettings,
        links: LinkSettings,
        runs: RunSettings,
        span: SpanSettings,
    ) -> None:
        """Starts with the vectors of a thread; its texts are read when needed.

        Args:
            dimension: Length of a vector.
            vectors: The vectors of all passages.
            starts: The character of its turn at which each passage begins.
            boundary: Constants of boundary confidences.
            links: Constants of links.
            runs: Constants of runs.
            span: Constants of values.
        """
        self.passages = Passages(starts)
        self.sentences = Sentences(dimension)
        self._boundary = boundary
        self._links = links
        self._span = span
        self._lengths = array("I")
        self._sizes = {WORDS: array("Q"), ESTIMATE: array("Q")}
        self._users = bytearray()
        self._asks = bytearray()
        self._last: Cues | None = None
        self._cues = array("d")
        self._odds = array("f")
        self.run_settings = runs
        self._recent: dict[int, str] = {}
        self._unlearnt: list[tuple[Turn, list[Range], list[str]]] = []
        self._kept: dict[str, tuple[tuple[int, int], Any]] = {}  # see `lasting`
        self._grown: dict[str, Growing[Any]] = {}  # see `growing`
        self._settled = 0  # number of turns when boundary evidence was last updated
        self._linked = 0  # number of turns when stretches were last updated
        self.vectors = DenseIndex(dimension, vectors)
        self.runs = ClosedRuns(runs, self.vectors)
        self.windows = WindowIndex(self.vectors, span.window_turns)
        self.postings = Postings()
        self.speakers = Speakers()
        self.attributes = Attributes()
        self.dated = False
        self.stretches = Stretches(links, self.vectors, self._users, self._begins)

    def __len__(self) -> int:
        return len(self.vectors)

    def part(self, places: Sequence[int] | npt.NDArray[np.int64]) -> "ThreadIndex":
        """Returns an index of some places alone, without their texts."""
        return ThreadIndex(
            self.vectors.dimension,
            self.vectors.take(places),
            self.passages.starts[places].tolist(),
            boundary=self._boundary,
            links=self._links,
            runs=self.run_settings,
            span=self._span,
        )

    def kept(
        self, places: Places, at: Callable[[Sequence[int]], Mapping[int, Turn]]
    ) -> "ThreadIndex":
        """Returns an index of some places, without runs, as if there had never been others.

        Args:
            places: The places of whole turns; all turns have been read.
            at: Returns the turns that begin at some places, by place.
        """
        self.learn()
        out = self.part(places)
        out.passages = self.passages.kept(places)
        out.sentences = self.sentences.kept(places, len(self))
        out._lengths = taken(self._lengths, places)
        out._sizes = {measure: taken(sizes, places) for measure, sizes in self._sizes.items()}
        for ours, theirs in ((self._users, out._users), (self._asks, out._asks)):
            theirs.extend(np.frombuffer(ours, dtype=np.uint8)[places].tobytes())
        firsts, begins = np.flatnonzero(self.passages.starts == 0), out.passages.starts == 0
        left = places[begins]
        gone = np.setdiff1d(firsts, left).tolist()
        # Turns that are now preceded by another one.
        joints = np.flatnonzero(np.diff(np.searchsorted(firsts, left), prepend=-1) != 1)
        beside = left[np.union1d(joints, np.maximum(joints - 1, 0))]
        turns = at([*{*gone, *beside.tolist(), *left[-RECENT:].tolist()}])
        ends = ((turns[place], self.passages[place][1]) for place in gone)
        out.postings = self.postings.kept(places)
        out.attributes = self.attributes.kept(places)
        out.speakers = self.speakers.kept(
            places, begins, [(t.role, t.text[:end]) for t, end in ends]
        )
        out.dated = bool(np.isfinite(out.attributes.times).any())
        out._cues = taken(self._cues, places)
        seen = {place: cues(turn.role, turn.text) for place, turn in turns.items()}
        now = np.flatnonzero(begins).tolist()  # where the turns that are left begin
        for joint in joints.tolist():
            before = seen[left[joint - 1]] if joint else None
            out._cues[now[joint]] = cue_odds(self._boundary, seen[left[joint]], before)
        for place, number in zip(left[-RECENT:].tolist(), now[-RECENT:], strict=True):
            out._keep_recent(number, turns[place].text, seen[place])
            out._last = seen[place]
        return out

    def _begins(self, low: int, high: int) -> npt.NDArray[np.bool_]:
        """Returns for each place of a range whether a turn begins there."""
        first: npt.NDArray[np.bool_] = self.passages.starts[low:high] == 0
        return first

    @property
    def unread(self) -> int:
        """The first place whose text has not been read; the number of turns when all have."""
        return len(self._lengths)

    @property
    def lengths(self) -> npt.NDArray[np.uint32]:
        """The number of words of each turn, its speaker included."""
        return np.frombuffer(self._lengths, dtype=np.uint32)

    def sizes(self, measure: Measure) -> Sequence[int] | None:
        """Returns what each turn takes up in a context, or None if it must be measured."""
        return self._sizes.get(measure)

    def extend(self, vectors: Vectors, starts: Sequence[int]) -> Vector:
        """Appends the passages of new turns.

        Args:
            vectors: Their vectors.
            starts: The character of its turn at which each begins.

        Returns:
            The log odds of a new topic before each of them, computed without the turns after it.
        """
        first = len(self.vectors)
        self.vectors.extend(vectors)
        self.passages.extend(starts)
        low = max(0, first - BEFORE)
        rows = self.vectors.take(np.arange(low, len(self.vectors)))
        return log_odds(self._boundary, rows, settled=False)[first - low :]

    def read(self, turn: Turn) -> None:
        """Adds the text and the speaker of the first unread turn: what closes runs.

        What only searches need is added by `learn`, so that a turn that was not stored can be taken
        back.
        """
        ranges = self.passages.read(turn.text)
        self.dated = self.dated or turn.at is not None
        found = cues(turn.role, turn.text)
        self._keep_recent(self.unread, turn.text, found)
        # Inside a turn, only vectors say where a topic begins.
        self._cues.append(cue_odds(self._boundary, found, self._last))
        self._cues.extend([0.0] * (len(ranges) - 1))
        self._last = found
        self._users.extend([found.user] * len(ranges))
        lines = [*_lines(turn, ranges)]
        self._lengths.extend(map(count, lines))
        self._unlearnt.append((turn, ranges, lines))

    def _keep_recent(self, place: int, text: str, found: Cues) -> None:
        """Keeps the text of a turn that may be in a run; the oldest one is dropped."""
        ends_there = place + 1 == len(self) or not self.passages.starts[place + 1]
        if ends_there and found.words <= self.run_settings.max_words:
            self._recent[place] = text
            if len(self._recent) > RECENT:
                del self._recent[next(iter(self._recent))]

    def learn(self) -> None:
        """Adds what searches look up about the turns that were read."""
        for turn, ranges, lines in self._unlearnt:
            texts = [turn.text] if len(ranges) == 1 else [turn.text[a:b] for a, b in ranges]
            self.speakers.append(turn.role, *texts)
            for text, said in zip(texts, lines, strict=True):
                self.postings.append(text)
                self.attributes.append(turn)
                for measure, sizes in self._sizes.items():
                    sizes.append(measure.size(f"{said}\n"))
                self._asks.append(asks(text))
        self._unlearnt.clear()

    def mark(self) -> Mark:
        """Returns the present state, in which everything that was read is learnt."""
        self.learn()
        return Mark(
            places=len(self),
            sentences=len(self.sentences),
            runs=self.runs.mark(),
            recent=dict(self._recent),
            last=self._last,
            dated=self.dated,
        )

    def rewind(self, mark: Mark) -> None:
        """Takes back the turns that were added since a mark, unless they were learnt."""
        self.vectors.truncate(mark.places)
        self.runs.rewind(mark.runs)
        self.passages.truncate(mark.places)
        self.sentences.truncate(mark.sentences)
        del self._lengths[mark.places :], self._users[mark.places :], self._cues[mark.places :]
        # The newest gap was not final, and is computed again.
        del self._odds[max(0, mark.places - AFTER + 1) :]
        self._settled = 0
        for values in self._grown.values():
            values.cut(mark.places)
        self._unlearnt.clear()
        self._recent = dict(mark.recent)
        self._last, self.dated = mark.last, mark.dated

    def read_all(self, turns: Iterable[Turn]) -> None:
        """Reads turns, starting with the first unread one, until every vector has its text."""
        for turn in turns:
            if self.unread < len(self):
                self.read(turn)
                self.learn()

    def settle(self) -> None:
        """Updates everything that searches look up to the newest turn."""
        self.learn()
        self._settle_gaps()
        if self._linked != len(self):
            self.stretches.catch_up()
            self._linked = len(self)

    def _settle_gaps(self) -> None:
        """Updates boundary evidence to the newest turn."""
        count = len(self)
        if self._settled == count:
            return
        # The newest gap is not final: it is computed again once the next turn has been added.
        del self._odds[max(0, len(self._odds) - AFTER + 1) :]
        for first in range(len(self._odds), count, STEP):
            last = min(count, first + STEP)
            low, high = max(0, first - BEFORE), min(count, last + AFTER - 1)
            rows = self.vectors.take(np.arange(low, high))
            odds = log_odds(self._boundary, rows)[first - low : last - low]
            self._odds.frombytes(odds.tobytes())
        self._settled = count

    def confidence(self, place: int) -> float:
        """Returns the probability that a new topic begins before a turn."""
        return confidence(self._odds[place] + self._cues[place])

    def confidences(self, low: int, high: int) -> Values:
        """Returns the same for each turn from `low` up to, but excluding, `high`."""
        odds = np.frombuffer(self._odds, dtype=np.float32)[low:high].astype(np.float64)
        return confidences(odds + np.frombuffer(self._cues, dtype=np.float64)[low:high])

    def cuts(self, low: int, high: int) -> Values:
        """Returns the confidences at which runs are cut: 1 around divided turns.

        A divided turn is in no run, since its tokens would be embedded twice.
        """
        self._settle_gaps()
        return np.where(self.passages.apart(low, high), 1.0, self.confidences(low, high))

    def arriving(self, odds: float, turn: Turn) -> float:
        """Returns the confidence of a new topic before a turn that has just arrived."""
        return confidence(odds + cue_odds(self._boundary, cues(turn.role, turn.text), self._last))

    def close_runs(self) -> list[Run]:
        """Returns closed runs that have no vector yet; all texts must have been read.

        Once they have one, `runs.join` joins longer ones from them.
        """
        first = self.runs.done
        last = max(first, min(self.unread, len(self) - AFTER + 1))
        lengths = self.lengths[first:last].tolist()
        return self.runs.close(self.cuts(first, last).tolist(), lengths)

    def text(self, run: Run) -> str:
        """Returns the text of a run that has just closed."""
        return "\n".join(self._recent[place] for place in range(*run))

    @lasting
    def run_table(self) -> RunTable:
        """Returns all runs."""
        count = len(self)
        open_runs = self.runs.open(count)
        if count and self.passages.apart(count - 1, count)[0]:
            open_runs = []  # the newest turn is divided, or follows a divided one
        # A divided turn belongs to no run: it competes as one, and so does each of its passages.
        whole, parts = self._whole_turns(), np.flatnonzero(self.passages.divided())
        opened = np.array(open_runs, dtype=np.int64).reshape(-1, 2)
        passages = np.stack([parts, parts + 1], axis=1)
        every = np.concatenate([self.runs.edges(), opened, whole, passages])
        begins, ends = np.ascontiguousarray(every.T)
        sums = np.concatenate(
            [
                self.runs.sums(),
                [self.runs.length(run) for run in open_runs],
                self._sums()[whole[:, 0]],
                np.ones(len(parts)),
            ]
        )
        inside, pieces = self.runs.inside()
        sure = np.concatenate([[1.0], self.gaps()[1:], [1.0]])
        total = np.concatenate([[0], self._words()])
        told = np.zeros(count + 1)
        np.cumsum(self.speakers.tells * self.lengths, dtype=np.float64, out=told[1:])
        words = (total[ends] - total[begins]).astype(np.float64)
        excess = np.zeros(len(begins))
        excess[len(begins) - len(parts) :] = np.log(self.long()[parts])
        return RunTable(
            ranges=Ranges.of(begins, ends),
            opens=sure[begins],
            closes=sure[ends],
            words=words,
            length=np.log(words),
            inside=inside,
            pieces=pieces,
            sums=sums,
            tells=(told[ends] - told[begins]) / np.maximum(words, 1),
            excess=excess,
            passages=parts,
        )

    def _whole_turns(self) -> npt.NDArray[np.int64]:
        """Returns where the divided turns begin and end that may be shown whole."""
        if not self.passages.further:
            return np.zeros((0, 2), dtype=np.int64)
        edges = np.append(np.flatnonzero(self.passages.starts == 0), len(self))
        words = np.add.reduceat(self.lengths, edges[:-1], dtype=np.int64)
        short = (np.diff(edges) > 1) & (words <= WHOLE_WORDS)
        return np.stack([edges[:-1][short], edges[1:][short]], axis=1)

    @growing
    def _sums(self, first: int, last: int) -> Values:
        """Returns the length of the sum of a divided turn's vectors where it begins; else 1."""
        out = np.ones(last - first)
        begins = first + np.flatnonzero(self.passages.starts[first:] == 0)
        ends = np.append(begins[1:], len(self))
        divided = ends - begins > 1
        for begin, end in zip(begins[divided].tolist(), ends[divided].tolist(), strict=True):
            out[begin - first] = self.runs.length((begin, end))
        return out

    @growing
    def long(self, first: int, last: int) -> Values:
        """Returns by how much each turn exceeds the length of long turns; 1 if it does not.

        A passage is as long as its whole turn: most of what surrounds it is about something else.
        """
        words, turns = self.lengths[first:last], self.passages.turns
        if turns is not None:
            firsts = np.flatnonzero(self.passages.starts == 0)
            words = np.add.reduceat(self.lengths, firsts)[turns[first:last] - 1]
        return np.clip(words / self._span.long_turn_words, 1.0, MOST_EXCESS)

    @growing
    def short(self, first: int, last: int) -> Vector:
        """Returns how much of its words each turn has to itself: less than 1 if it is long."""
        words = self.lengths[first:last].astype(np.float32)
        return np.minimum(1, self._span.long_turn_words / words)

    @lasting
    def columns(self) -> Columns:
        """Returns the columns of turns that are the same for all questions."""
        return {
            "tells": self.speakers.tells,
            "first person": self._first_person(),
            "asks": self._asking(),
            "length": self._length(),
            "excess length": self._excess(),
        }

    @growing
    def _first_person(self, first: int, last: int) -> Vector:
        return np.log1p(self.speakers.first_person[first:last].astype(np.float32))

    @growing
    def _asking(self, first: int, last: int) -> Vector:
        return np.frombuffer(self._asks, dtype=np.bool_)[first:last].astype(np.float32)

    @growing
    def _length(self, first: int, last: int) -> Vector:
        short = np.minimum(self.lengths[first:last], self._span.long_turn_words)
        return np.log1p(short.astype(np.float32))

    @growing
    def _excess(self, first: int, last: int) -> Values:
        return np.log(self.long()[first:last])

    @growing
    def _words(self, first: int, last: int) -> npt.NDArray[np.int64]:
        """Returns the number of words up to the end of each turn."""
        words = self.lengths[first:last].astype(np.int64)
        if first:
            words[0] += self._grown["_words"].before(first)
        return np.cumsum(words)

    @lasting
    def replies(self) -> Values:
        """Returns how often the speaker of each turn talks about themselves; 0 for long turns."""
        return np.where(self.long() == 1, np.exp(self.speakers.tells), 0.0)

    @growing
    def costs(self, first: int, last: int) -> Values:
        """Returns the words that each turn costs in a context if it is alone."""
        return self.lengths[first:last].astype(np.float64) + OVERHEAD

    @lasting
    def joined(self) -> Values:
        """Returns how likely each turn goes on from the one before; 0 where interleaved."""
        return np.where(self.stretches.interleaved(), 0.0, 1 - self.gaps())

    def paths(self) -> Paths:
        """Returns how values decay along the thread."""
        return Paths(onward=self._onward(), back=self._back())

    @growing
    def _onward(self, first: int, last: int) -> Values:
        before = float(self._grown["_onward"].before(first)) if first else 0.0
        gaps, words = self.gaps()[first:last], self.lengths[first:last]
        return paths(self._span, gaps, words, before=before).onward

    @growing
    def _back(self, first: int, last: int) -> Values:
        before = float(self._grown["_onward"].before(first)) if first else 0.0
        gaps, words = self.gaps()[first:last], self.lengths[first:last]
        return paths(self._span, gaps, words, before=before).back

    def warm(self) -> None:
        """Computes all of these; the index must be settled."""
        if len(self):
            for make in (self.run_table, self.columns, self.short, self.replies, self.joined):
                make()
            self.costs()
            self.paths()

    @growing
    def gaps(self, first: int, last: int) -> Values:
        """Returns the confidence of a new topic before each turn."""
        return self.confidences(first, last)


def _lines(turn: Turn, ranges: Sequence[Range]) -> Iterator[str]:
    """Yields the passages of a turn as a context shows them, with marks for what is left out."""
    for part in ranges:
        yield line(turn if len(ranges) == 1 else replace(turn, shown=(part,)))
