"""The closed runs of a growing thread: embedded ones, and longer ones joined from them."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tsim.index import DenseIndex
from tsim.index.taking import Places, consecutive
from tsim.segment import Piece, Run, RunCutter, RunJoiner, RunSettings
from tsim.vectors import Vector, Vectors, unit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosedMark:
    """A state that the runs can be taken back to.

    Attributes:
        embedded: The number of runs with a vector.
        pieces: The length of the list of those that others are joined from.
        joined: The number of joined runs.
        cutter: The piece that is open.
        joiner: The joined runs that are open.
    """

    embedded: int
    pieces: int
    joined: int
    cutter: RunCutter
    joiner: RunJoiner


class ClosedRuns:
    """The closed runs, and what is known of those that are open.

    Attributes:
        embedded: The runs that were embedded, each with its row in `vectors`.
        vectors: Their vectors.
        joined: The runs that are joined from pieces, in order. They have no vectors: what a
            question has in common with them follows from their pieces.
    """

    def __init__(self, settings: RunSettings, turns: DenseIndex) -> None:
        """Starts without runs.

        Args:
            settings: Constants.
            turns: The vectors of all places, to which others may be added.
        """
        self._cutter, self._joiner = RunCutter(settings), RunJoiner(settings)
        self._turns = turns
        self._closed: list[Piece] = []  # pieces that are not joined yet
        self.embedded: dict[Run, int] = {}
        self._edges = array("q")  # where each of them begins and ends
        self.vectors = DenseIndex(turns.dimension)
        self._pieces = array("q")  # those that are pieces: begin, end, and row
        self.joined: dict[Run, None] = {}
        self._joints = array("q")  # where each of them begins and ends
        self._sums = array("d")  # the length of the sum of its pieces' vectors

    def __len__(self) -> int:
        return len(self.embedded) + len(self.joined)

    def mark(self) -> ClosedMark:
        """Returns the present state."""
        return ClosedMark(
            embedded=len(self.embedded),
            pieces=len(self._pieces),
            joined=len(self.joined),
            cutter=self._cutter.copy(),
            joiner=self._joiner.copy(),
        )

    def rewind(self, mark: ClosedMark) -> None:
        """Takes back what was added since a mark."""
        self.vectors.truncate(mark.embedded)
        while len(self.embedded) > mark.embedded:
            self.embedded.popitem()
        while len(self.joined) > mark.joined:
            self.joined.popitem()
        del self._edges[2 * mark.embedded :], self._pieces[mark.pieces :]
        del self._joints[2 * mark.joined :], self._sums[mark.joined :]
        self._closed.clear()
        self._cutter, self._joiner = mark.cutter.copy(), mark.joiner.copy()

    @property
    def done(self) -> int:
        """The first gap that has not been considered."""
        return self._cutter.done

    def close(self, confidences: Sequence[float], lengths: Sequence[int]) -> list[Run]:
        """Considers further gaps.

        Args:
            confidences: The settled confidences of the gaps from `done`.
            lengths: The words of the turns after these gaps.

        Returns:
            The runs that close and have no vector yet; `join` follows when they have.
        """
        pieces = [*self._cutter.advance(confidences, lengths)]
        self._closed += pieces
        several = [piece.run for piece in pieces if piece.run[1] - piece.run[0] > 1]
        return [run for run in several if run not in self.embedded]

    def add(self, runs: Sequence[Run], vectors: Vectors | Sequence[Vector]) -> None:
        """Adds closed runs with their vectors; those that are there already are left out."""
        fresh = [row for row, run in enumerate(runs) if run not in self.embedded]
        self._edges.extend(edge for row in fresh for edge in runs[row])
        self.embedded.update({runs[row]: len(self.embedded) + n for n, row in enumerate(fresh)})
        self.vectors.extend([vectors[row] for row in fresh])

    def join(self) -> None:
        """Joins the pieces that have closed into longer runs."""
        for piece in self._closed:
            if (row := self.embedded.get(piece.run)) is not None:
                self._pieces.extend((*piece.run, row))
            for run in self._joiner.advance(piece):
                if run not in self.joined and run not in self.embedded:
                    self.joined[run] = None
                    self._joints.extend(run)
                    self._sums.append(self.length(run))
        self._closed.clear()

    def open(self, count: int) -> list[Run]:
        """Returns the runs of several turns that are not closed, of a thread of `count` turns."""
        found = {self._cutter.open_run(count), *self._joiner.open_runs(count)}
        several = {run for run in found if run[1] - run[0] > 1}
        return sorted(several - self.embedded.keys() - self.joined.keys())

    def edges(self) -> npt.NDArray[np.int64]:
        """Returns where the closed runs begin and end: the embedded ones, then the joined ones."""
        both = [np.frombuffer(one, dtype=np.int64) for one in (self._edges, self._joints)]
        return np.concatenate(both).reshape(-1, 2)

    def sums(self) -> npt.NDArray[np.float64]:
        """Returns the lengths of the sums of the joined runs' pieces."""
        return np.frombuffer(self._sums).copy()

    def inside(self) -> tuple[Places, npt.NDArray[np.int64]]:
        """Returns the places in pieces of several turns, and the number of the run at each."""
        begins, ends, rows = np.frombuffer(self._pieces, dtype=np.int64).reshape(-1, 3).T
        return consecutive(begins, ends - begins), np.repeat(rows, ends - begins)

    def mean(self, run: Run) -> Vector:
        """Returns the mean of the vectors of a run's turns, of length one."""
        total: Vector = self._turns.take(np.arange(*run)).sum(axis=0, dtype=np.float32)
        row: Vector = unit(total[None])[0]
        return row

    def length(self, run: Run) -> float:
        """Returns the length of the sum of the vectors of a run's pieces.

        Each piece counts as often as it has turns.
        """
        begin, end = run
        pieces = np.frombuffer(self._pieces, dtype=np.int64).reshape(-1, 3)
        first = int(np.searchsorted(pieces[:, 1], begin, side="right"))
        last = int(np.searchsorted(pieces[:, 0], end))
        alone = np.ones(end - begin, dtype=bool)
        total: Vector = np.zeros(self._turns.dimension, dtype=np.float32)
        for starts, stops, row in pieces[first:last].tolist():
            inside = slice(max(starts, begin) - begin, min(stops, end) - begin)
            alone[inside] = False
            total += np.float32(inside.stop - inside.start) * self.vectors[row]
        total += self._turns.take(begin + np.flatnonzero(alone)).sum(axis=0, dtype=np.float32)
        return float(np.linalg.norm(total))
