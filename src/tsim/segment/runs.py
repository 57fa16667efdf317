"""Runs: consecutive turns between likely topic changes, at several thresholds.

At each threshold, a thread is divided wherever a new topic is at least that likely, and where a run
would become too long. Low thresholds give short runs, high ones long runs; together they are the
parts of a thread that a question may be about.

The thread is cut at the lowest threshold first. Longer runs are joined from whole pieces of that
kind, so that what is known of the pieces says what there is to know about the runs, and only pieces
need be embedded. The runs of a thread depend on its turns alone, not on how they were added. A run
is closed once the gap after it is settled.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

# The first place of a run, and the place after its last.
Run: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How a thread is divided into runs.

    Attributes:
        thresholds: Confidences at which a thread is divided, the lowest one first.
        max_turns: Maximum number of turns in a run.
        max_words: Maximum number of words in a run; a longer turn is a run of its own. Encoders
            read no more than a few hundred tokens.
        embedded: Whether the runs of the first threshold are embedded as texts, each turn once more
            at most. Otherwise all runs are joined from single turns, which costs nothing and finds
            less.
    """

    thresholds: tuple[float, ...]
    max_turns: int
    max_words: int
    embedded: bool

    @property
    def cut(self) -> float:
        """The confidence at which pieces end; 0 if every turn is a piece."""
        return self.thresholds[0] if self.embedded else 0.0

    @property
    def joined(self) -> tuple[float, ...]:
        """The confidences at which runs end that are joined from pieces."""
        return self.thresholds[1:] if self.embedded else self.thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A turn, or the shortest run around it.

    Attributes:
        run: Its places.
        words: Its number of words.
        confidence: The probability of a new topic after it.
        following: The number of words of the turn after it.
    """

    run: Run
    words: int
    confidence: float
    following: int


class RunCutter:
    """Divides a growing thread into pieces."""

    def __init__(self, settings: RunSettings) -> None:
        """Starts before the first turn."""
        self._settings = settings
        self._begin = 0
        self._words = 0
        self.done = 0  # the first gap that has not been considered

    def copy(self) -> "RunCutter":
        """Returns a cutter that goes on from here, independently of this one."""
        out = RunCutter(self._settings)
        out._begin, out._words, out.done = self._begin, self._words, self.done
        return out

    def advance(self, confidences: Sequence[float], words: Sequence[int]) -> Iterator[Piece]:
        """Considers further gaps.

        Args:
            confidences: The settled confidences of the gaps from `done`.
            words: The lengths of the turns after these gaps.

        Yields:
            The pieces that close, in order.
        """
        settings = self._settings
        for confidence, length in zip(confidences, words, strict=True):
            place = self.done
            if place > self._begin and (
                confidence >= settings.cut
                or place - self._begin >= settings.max_turns
                or self._words + length > settings.max_words
            ):
                yield Piece(
                    run=(self._begin, place),
                    words=self._words,
                    confidence=confidence,
                    following=length,
                )
                self._begin, self._words = place, 0
            self._words += length
            self.done += 1

    def open_run(self, count: int) -> Run:
        """Returns the piece that is not closed yet, if the thread has `count` turns."""
        return max(self._begin, count - self._settings.max_turns), count


@dataclass(frozen=True, slots=True)
class _Level:
    """Pieces that may become a run.

    Attributes:
        threshold: The confidence at which it ends.
        begin: Its first place.
        pieces: Their number.
        words: Their words.
    """

    threshold: float
    begin: int = 0
    pieces: int = 0
    words: int = 0


class RunJoiner:
    """Joins the pieces of a growing thread into longer runs."""

    def __init__(self, settings: RunSettings) -> None:
        """Starts before the first piece."""
        self._settings = settings
        self._levels = [_Level(threshold) for threshold in settings.joined]

    def copy(self) -> "RunJoiner":
        """Returns a joiner that goes on from here, independently of this one."""
        out = RunJoiner(self._settings)
        out._levels = [*self._levels]
        return out

    def advance(self, piece: Piece) -> Iterator[Run]:
        """Adds a piece; yields the runs of several pieces that close, perhaps some twice."""
        settings, (begin, end) = self._settings, piece.run
        for number, level in enumerate(self._levels):
            first, pieces, words = level.begin, level.pieces + 1, level.words + piece.words
            if end - first > settings.max_turns or words > settings.max_words:
                if level.pieces > 1:
                    yield first, begin
                first, pieces, words = begin, 1, piece.words
            if (
                piece.confidence >= level.threshold
                or end - first >= settings.max_turns
                or words + piece.following > settings.max_words
            ):
                if pieces > 1:
                    yield first, end
                first, pieces, words = end, 0, 0
            self._levels[number] = _Level(level.threshold, first, pieces, words)

    def open_runs(self, count: int) -> list[Run]:
        """Returns the runs that are not closed yet, if the thread has `count` turns."""
        most = self._settings.max_turns
        return [(max(level.begin, count - most), count) for level in self._levels]
