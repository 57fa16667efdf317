"""Stretches of a thread: which are interleaved, and which turns reply to which in those."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tsim.index import DenseIndex
from tsim.segment import Links, LinkSettings, interleaved, membership, replies
from tsim.vectors import Vectors, unit

# Turns per stretch, and turns of context on either side that are used to find its links.
STRETCH, MARGIN = 112, 40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbourhood:
    """The turns around some anchors, one row per anchor.

    Attributes:
        places: Their places, some of which may be outside the thread.
        inside: Which places are inside the thread.
        membership: Probability that each turn belongs to the anchor's conversation; 0 outside.
    """

    places: npt.NDArray[np.int64]
    inside: npt.NDArray[np.bool_]
    membership: Links


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stretch:
    """A stretch of consecutive turns, with the range of turns used to analyse it.

    Attributes:
        low: The first turn of the range.
        high: The turn after the last one of the range so far.
        most: The value of `high` once all turns of the range have been added.
        interleaved: Whether conversations are interleaved here.
        links: Which turn replies to which, once computed.
    """

    low: int
    high: int
    most: int
    interleaved: bool
    links: Links | None = None


class Stretches:
    """The stretches of a growing thread."""

    def __init__(
        self,
        settings: LinkSettings,
        rows: DenseIndex,
        users: bytearray,
        begins: Callable[[int, int], npt.NDArray[np.bool_]],
    ) -> None:
        """Uses what is known about the places of a growing thread.

        Args:
            settings: Constants of links.
            rows: Their vectors.
            users: Which are the user's.
            begins: Returns for each place of a range whether a turn begins there.
        """
        self._settings = settings
        self._rows = rows
        self._users = users
        self._begins = begins
        self._stretches: list[_Stretch] = []
        self._interleaved = np.zeros(0, dtype=np.bool_)

    def catch_up(self) -> None:
        """Analyses new stretches, and again those whose range was not yet complete."""
        count = len(self._rows)
        while self._stretches and self._stretches[-1].high != self._stretches[-1].most:
            self._stretches.pop()
        for number in range(len(self._stretches), -(-count // STRETCH)):
            low = max(0, number * STRETCH - MARGIN)
            most = (number + 1) * STRETCH + MARGIN
            high = min(count, most)
            found = interleaved(self._settings, self._turns(low, high))
            self._stretches.append(_Stretch(low=low, high=high, most=most, interleaved=found))
        flags = np.array([stretch.interleaved for stretch in self._stretches], dtype=np.bool_)
        self._interleaved = np.repeat(flags, STRETCH)[:count]

    def _turns(self, low: int, high: int) -> Vectors:
        """Returns the vectors of the turns in a range.

        That of a divided turn is the mean of its passages, which are adjacent and alike, whatever
        surrounds it.
        """
        rows, begins = self._rows.take(np.arange(low, high)), self._begins(low, high)
        if begins.all():
            return rows
        firsts = np.union1d(0, np.flatnonzero(begins))
        return unit(np.add.reduceat(rows, firsts, axis=0, dtype=np.float32))

    def interleaved(self) -> npt.NDArray[np.bool_]:
        """Returns for each turn whether conversations are interleaved around it."""
        return self._interleaved

    def interleaved_at(self, place: int) -> bool:
        """Returns whether conversations are interleaved around one turn."""
        return self._stretches[place // STRETCH].interleaved

    def replies(self, low: int, high: int) -> Links:
        """Returns P[j, k - 1]: the probability that turn low + j replies to the k-th before it.

        It is 0 where nothing is interleaved.
        """
        places = np.arange(low, high)
        return self._links(places, np.ones(len(places), dtype=np.bool_))

    def neighbourhood(self, anchors: Sequence[int], reach: int) -> Neighbourhood:
        """Returns the turns around anchors and how likely they belong to their conversations."""
        places = np.add.outer(np.array(anchors), np.arange(-reach, reach + 1))
        inside = (places >= 0) & (places < len(self._rows))
        found = np.where(inside, membership(self._links(places, inside), reach), 0)
        return Neighbourhood(places=places, inside=inside, membership=found)

    def _links(self, around: npt.NDArray[np.int64], inside: npt.NDArray[np.bool_]) -> Links:
        """Returns the links of the turns around anchors; 0 where nothing is interleaved."""
        out = np.zeros((*around.shape, self._settings.max_lag))
        numbers = np.where(inside, around // STRETCH, -1)
        for number in np.unique(numbers[inside]).tolist():
            if self._stretches[number].interleaved:
                there = numbers == number
                out[there] = self._of(number)[around[there] - number * STRETCH]
        return out

    def _of(self, number: int) -> Links:
        """Returns the links of one stretch, computed on first use."""
        stretch = self._stretches[number]
        links = stretch.links
        if links is None:
            rows = self._rows.take(np.arange(stretch.low, stretch.high))
            users = np.frombuffer(self._users, dtype=np.bool_)[stretch.low : stretch.high]
            first = number * STRETCH - stretch.low
            links = replies(self._settings, rows, users)[first : first + STRETCH]
            self._stretches[number] = replace(stretch, links=links)
        return links
