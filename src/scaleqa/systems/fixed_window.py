"""Fixed windows: runs of whole turns of about a given length, one vector each, the five nearest."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from scaleqa.packages import StreamTurn
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from scaleqa.systems.registry import take
from tsim import tokens
from tsim.index import DenseIndex
from tsim.vectors import best


class Windows(FlatSystem, ABC):
    """Non-overlapping windows of consecutive whole turns; the last one is still open."""

    def __init__(self, tools: Tools, k: int) -> None:
        """Starts empty."""
        super().__init__()
        self._embedder = tools.embedder
        self._k = k
        self._windows: list[list[int]] = []
        self._rows = DenseIndex(tools.embedder.dimension)

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Fills windows and embeds those that changed."""
        first = max(0, len(self._windows) - 1)
        for turn, cut in zip(turns, self.cuts(turns), strict=True):
            if cut:
                self._windows.append([])
            self._windows[-1].append(turn.id)
        texts = ["\n".join(self.line(t) for t in window) for window in self._windows[first:]]
        vectors = self._embedder.embed(texts)
        if first < len(self._rows):
            self._rows.replace(first, vectors[0])
            vectors = vectors[1:]
        self._rows.extend(np.asarray(vectors))

    @abstractmethod
    def cuts(self, turns: Sequence[StreamTurn]) -> Iterable[bool]:
        """Tells for each new turn whether it opens a window; the first of a thread does."""

    def retrieve(self, asked: Asked) -> Retrieved:
        """Finds the nearest windows."""
        scores = self._rows.scores(self._embedder.embed_query(asked.question))
        return self.show(
            [
                Unit(turns=tuple(self._windows[place]), score=float(scores[place]))
                for place in best(scores, self._k)
            ]
        )

    def account(self) -> Accounting:
        """Tells what is kept."""
        return Accounting(vectors=len(self._rows), indexed_words=self.words)


class FixedWindow(Windows):
    """Windows that are full at about a given length."""

    def __init__(self, tools: Tools, *, size: int, k: int) -> None:
        """Starts empty."""
        super().__init__(tools, k)
        self._size = size
        self._held = 0
        self._begun = False

    def cuts(self, turns: Sequence[StreamTurn]) -> Iterable[bool]:
        """A turn opens a window where the one before it is full."""
        for turn in turns:
            cut = not self._begun or tokens.from_words(self._held) >= self._size
            words = len(turn.text.split())
            self._held = words if cut else self._held + words
            self._begun = True
            yield cut


def make(options: Mapping[str, str], tools: Tools) -> FixedWindow:
    """Opens the system; options: size, k."""
    values = take(options, size=128, k=5)
    return FixedWindow(tools, size=int(values["size"]), k=int(values["k"]))
