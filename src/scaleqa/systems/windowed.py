"""A base class for systems with one vector per window of consecutive turns."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np

from scaleqa.packages import StreamTurn
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from tsim.toolkit import DenseIndex, best


class WindowedSystem(FlatSystem, ABC):
    """Non-overlapping windows of consecutive whole turns; the last one is still open."""

    def __init__(self, tools: Tools, *, k: int) -> None:
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
        """Returns for each new turn whether it starts a window; the first of a thread does."""

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
        """Returns what the system keeps."""
        return Accounting(vectors=len(self._rows), indexed_words=self.words)
