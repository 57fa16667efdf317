"""Episodes alone: cut by the paper's drift rule, one vector each, the nearest few.

The stage of the paper's ablation between fixed windows and the full method: its segmentation with
none of its views and none of its ranking.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import SystemDeclaration
from scaleqa.systems.protocol import Tools
from scaleqa.systems.windowed import WindowedSystem
from tsim.engine import EpisodeSettings
from tsim.presets import OFFICIAL
from tsim.segment import Buffer, DriftSettings, advance


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftWindowOptions:
    """Where windows end, and how many are shown."""

    theta: Annotated[
        float, Field(ge=0, description="Similarity below which a window ends; 0: the paper's.")
    ] = 0.0
    k: Annotated[int, Field(ge=1, description="Windows shown.")] = 5


class DriftWindow(WindowedSystem):
    """Windows that end where the talk drifts away."""

    def __init__(self, options: DriftWindowOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__(tools, k=options.k)
        self._segment = _segment(options.theta)
        self._buffer = Buffer()

    def cuts(self, turns: Sequence[StreamTurn]) -> Iterable[bool]:
        """A turn opens a window where the rule cuts before it."""
        vectors = self._embedder.embed([turn.text for turn in turns])
        for turn, vector in zip(turns, vectors, strict=True):
            words = len(turn.text.split())
            step = advance(self._segment, self._buffer, role=turn.role, words=words, vector=vector)
            self._buffer = step.buffer
            yield step.cut


def _segment(theta: float) -> DriftSettings:
    settings = OFFICIAL.settings
    assert isinstance(settings, EpisodeSettings)  # noqa: S101  # the paper's preset has episodes
    return replace(settings.segment, threshold=theta or settings.segment.threshold)


SYSTEM = SystemDeclaration(
    name="drift_window",
    summary="Episodes cut by the paper's rule, one vector each; the nearest.",
    options=DriftWindowOptions,
    make=DriftWindow,
)
