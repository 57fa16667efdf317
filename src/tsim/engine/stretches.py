"""Stretches of a thread: which of them are interleaved, and who answers whom in those."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tsim.index import DenseIndex
from tsim.segment import Links, LinkSettings, interleaved, membership, replies

# Turns of a stretch in which links are sought, and turns it sees to either side.
STRETCH, MARGIN = 112, 40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbourhood:
    """The turns around some anchors, one row per anchor.

    Attributes:
        places: Their places; not all of them inside the thread.
        inside: Which are.
        membership: How likely each belongs to the anchor's conversation; 0 outside.
    """

    places: npt.NDArray[np.int64]
    inside: npt.NDArray[np.bool_]
    membership: Links


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stretch:
    """Some turns in a row: what it sees of the thread, and what it will see at most.

    Attributes:
        low: The first turn it sees.
        high: The turn after the last.
        most: The same, once they have all come.
        interleaved: Whether conversations run through each other here.
        links: Who answers whom, once that was asked for.
    """

    low: int
    high: int
    most: int
    interleaved: bool
    links: Links | None = None


class Stretches:
    """The stretches of a growing thread."""

    def __init__(self, settings: LinkSettings, rows: DenseIndex, users: bytearray) -> None:
        """Watches the vectors of a thread, and which of its turns are the user's."""
        self._settings = settings
        self._rows = rows
        self._users = users
        self._stretches: list[_Stretch] = []

    def catch_up(self) -> None:
        """Tells plain stretches from others; a stretch is settled when the turns it sees are."""
        count = len(self._rows)
        while self._stretches and self._stretches[-1].high != self._stretches[-1].most:
            self._stretches.pop()
        for number in range(len(self._stretches), -(-count // STRETCH)):
            low = max(0, number * STRETCH - MARGIN)
            most = (number + 1) * STRETCH + MARGIN
            high = min(count, most)
            found = interleaved(self._settings, self._rows.take(np.arange(low, high)))
            self._stretches.append(_Stretch(low=low, high=high, most=most, interleaved=found))

    def interleaved(self) -> npt.NDArray[np.bool_]:
        """Tells of each turn whether conversations run through each other around it."""
        flags = np.array([stretch.interleaved for stretch in self._stretches], dtype=np.bool_)
        return np.repeat(flags, STRETCH)[: len(self._rows)]

    def interleaved_at(self, place: int) -> bool:
        """Tells the same of one turn."""
        return self._stretches[place // STRETCH].interleaved

    def neighbourhood(self, anchors: Sequence[int], reach: int) -> Neighbourhood:
        """Tells how likely the turns around some anchors belong to the anchors' conversations."""
        places = np.add.outer(np.array(anchors), np.arange(-reach, reach + 1))
        inside = (places >= 0) & (places < len(self._rows))
        found = np.where(inside, membership(self._links(places, inside), reach), 0)
        return Neighbourhood(places=places, inside=inside, membership=found)

    def _links(self, around: npt.NDArray[np.int64], inside: npt.NDArray[np.bool_]) -> Links:
        """The links of the turns around anchors; none where the stream is plain."""
        out = np.zeros((*around.shape, self._settings.max_lag))
        numbers = np.where(inside, around // STRETCH, -1)
        for number in np.unique(numbers[inside]).tolist():
            if self._stretches[number].interleaved:
                there = numbers == number
                out[there] = self._of(number)[around[there] - number * STRETCH]
        return out

    def _of(self, number: int) -> Links:
        """The links of one stretch, found when first asked for."""
        stretch = self._stretches[number]
        links = stretch.links
        if links is None:
            rows = self._rows.take(np.arange(stretch.low, stretch.high))
            users = np.frombuffer(self._users, dtype=np.bool_)[stretch.low : stretch.high]
            first = number * STRETCH - stretch.low
            links = replies(self._settings, rows, users)[first : first + STRETCH]
            self._stretches[number] = replace(stretch, links=links)
        return links
