"""The data that a search needs about turns: vectors, words, lengths, boundary evidence.

All of it is computed from the turns and their vectors, and addressed by place: the position of a
turn among the stored ones, from 0. Vectors are added with the turns; texts may be read later,
before the next search.
"""

from array import array
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tsim.assemble import line
from tsim.engine.stretches import Stretches
from tsim.index import DenseIndex, Postings, WindowIndex
from tsim.rank import Paths, SpanSettings, Values, paths
from tsim.segment import (
    AFTER,
    BEFORE,
    ConfidenceSettings,
    LinkSettings,
    confidence,
    confidences,
    log_odds,
)
from tsim.types import USER_ROLE, Turn
from tsim.vectors import Vector, Vectors

STEP = 1024


class ThreadIndex:
    """The search index of a growing thread.

    Attributes:
        vectors: One row per turn.
        windows: Scores of the windows of turns.
        postings: The words of the turns whose texts have been read.
        stretches: Which parts of the thread are interleaved, and which turns reply to which there.
    """

    def __init__(
        self,
        dimension: int,
        vectors: Vectors,
        *,
        boundary: ConfidenceSettings,
        links: LinkSettings,
        span: SpanSettings,
    ) -> None:
        """Starts with the vectors of a thread; its texts are read when needed."""
        self._boundary = boundary
        self._span = span
        self._words = array("I")
        self._users = bytearray()
        self._odds = array("f")
        self._paths: Paths | None = None
        self._settled = 0  # number of turns when boundary evidence was last updated
        self.vectors = DenseIndex(dimension, vectors)
        self.windows = WindowIndex(self.vectors, span.window_turns)
        self.postings = Postings()
        self.stretches = Stretches(links, self.vectors, self._users)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def unread(self) -> int:
        """The first place whose text has not been read; the number of turns when all have."""
        return len(self.postings)

    @property
    def lengths(self) -> npt.NDArray[np.uint32]:
        """The number of words that each turn takes up in a context."""
        return np.frombuffer(self._words, dtype=np.uint32)

    def extend(self, vectors: Vectors) -> Vector:
        """Appends the vectors of new turns.

        Returns:
            The log odds of a new topic before each of them, computed without the turns after it.
        """
        first = len(self.vectors)
        self.vectors.extend(vectors)
        low = max(0, first - BEFORE)
        rows = self.vectors.take(np.arange(low, len(self.vectors)))
        return log_odds(self._boundary, rows, settled=False)[first - low :]

    def read(self, turn: Turn) -> None:
        """Adds the text and the speaker of the first unread turn."""
        self.postings.append(turn.text)
        self._words.append(len(line(turn).split()))
        self._users.append(turn.role == USER_ROLE)

    def read_all(self, turns: Iterable[Turn]) -> None:
        """Reads turns, starting with the first unread one, until every vector has its text."""
        for turn in turns:
            if self.unread < len(self):
                self.read(turn)

    def settle(self) -> None:
        """Updates boundary evidence and stretches to the newest turn."""
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
        self.stretches.catch_up()
        self._settled = count

    def confidence(self, place: int) -> float:
        """Returns the probability that a new topic begins before a turn."""
        after_user = bool(place and self._users[place] and self._users[place - 1])
        return confidence(self._boundary, self._odds[place], user_after_user=after_user)

    def confidences(self, low: int, high: int) -> Values:
        """Returns the same for each turn from `low` up to, but excluding, `high`."""
        users = np.frombuffer(self._users, dtype=np.bool_)[low:high]
        before = bool(low and self._users[low - 1])
        after_user = users & np.append(before, users[:-1])
        odds = np.frombuffer(self._odds, dtype=np.float32)[low:high]
        return confidences(self._boundary, odds, after_user)

    def paths(self) -> Paths:
        """Returns how values decay along the thread; cached until a turn is added."""
        if self._paths is None or len(self._paths.onward) != len(self):
            self._paths = paths(self._span, self.confidences(0, len(self)), self.lengths)
        return self._paths
