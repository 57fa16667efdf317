"""Runs: consecutive turns between likely topic changes, at several thresholds.

At each threshold, a thread is divided wherever a new topic is at least that likely, and where a run
would become too long. Low thresholds give short runs, high ones long runs; together they are the
parts of a thread that a question may be about. The runs of a thread depend on its turns alone, not
on how they were added. A run is closed once the gap after it is settled.
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
        thresholds: Confidences at which a thread is divided.
        max_turns: Maximum number of turns in a run.
        max_words: Maximum number of words in a run; a longer turn is a run of its own. Encoders
            read no more than a few hundred tokens.
        embedded: Whether runs are embedded as texts. Otherwise the mean of their turns' vectors is
            used, which costs nothing and finds less.
    """

    thresholds: tuple[float, ...]
    max_turns: int
    max_words: int
    embedded: bool


class RunCutter:
    """Finds the runs of a growing thread; runs of one turn are left out."""

    def __init__(self, settings: RunSettings) -> None:
        """Starts before the first turn."""
        self._settings = settings
        self._begins = [0] * len(settings.thresholds)
        self._words = [0] * len(settings.thresholds)
        self.done = 0  # the first gap that has not been considered

    def copy(self) -> "RunCutter":
        """Returns a cutter that goes on from here, independently of this one."""
        out = RunCutter(self._settings)
        out._begins, out._words, out.done = [*self._begins], [*self._words], self.done
        return out

    def advance(self, confidences: Sequence[float], words: Sequence[int]) -> Iterator[Run]:
        """Considers further gaps.

        Args:
            confidences: The settled confidences of the gaps from `done`.
            words: The lengths of the turns after these gaps.

        Yields:
            The runs that close, each once, in the order in which they close.
        """
        settings = self._settings
        for confidence, length in zip(confidences, words, strict=True):
            place, closed = self.done, set()
            for level, threshold in enumerate(settings.thresholds):
                begin = self._begins[level]
                if place > begin and (
                    confidence >= threshold
                    or place - begin >= settings.max_turns
                    or self._words[level] + length > settings.max_words
                ):
                    if place - begin > 1:
                        closed.add((begin, place))
                    self._begins[level], self._words[level] = place, 0
                self._words[level] += length
            self.done += 1
            yield from sorted(closed)

    def open_runs(self, count: int) -> list[Run]:
        """Returns the runs that are not closed yet, if the thread has `count` turns."""
        most = self._settings.max_turns
        return sorted({(max(b, count - most), count) for b in self._begins if count - b > 1})
