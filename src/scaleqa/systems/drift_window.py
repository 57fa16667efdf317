"""Episodes only: cut by the paper's drift rule, one vector per episode.

This is the stage of the paper's ablation between fixed windows and the full method: its
segmentation without its views and its ranking.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import SystemDeclaration
from scaleqa.systems.protocol import Tools
from scaleqa.systems.windowed import WindowedSystem
from tsim.toolkit import Arrival, DriftRule


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftWindowOptions:
    """Where windows end, and how many are shown."""

    theta: Annotated[
        float, Field(ge=0, description="Similarity below which a window ends; 0: as in the paper.")
    ] = 0.0
    k: Annotated[int, Field(ge=1, description="Windows shown.")] = 5


class DriftWindow(WindowedSystem):
    """Windows that end where the conversation drifts to another topic."""

    def __init__(self, options: DriftWindowOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__(tools, k=options.k)
        theta = options.theta
        self._rule = DriftRule(min_similarity=theta) if theta else DriftRule()
        self._state = self._rule.resume(())

    def cuts(self, turns: Sequence[StreamTurn]) -> Iterable[bool]:
        """Applies the drift rule to new turns."""
        vectors = self._embedder.embed([turn.text for turn in turns])
        for turn, vector in zip(turns, vectors, strict=True):
            words = len(turn.text.split())
            arrival = Arrival(role=turn.role, words=words, vector=vector)
            step = self._rule.advance(self._state, arrival)
            self._state = step.state
            yield step.cut


SYSTEM = SystemDeclaration(
    name="drift_window",
    summary="Episodes cut by the paper's rule, one vector each; the nearest.",
    options=DriftWindowOptions,
    make=DriftWindow,
)
