"""Episodes alone: cut by the paper's drift rule, one vector each, the five nearest.

The stage of the paper's ablation between fixed windows and the full method: its segmentation with
none of its views and none of its ranking.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from scaleqa.packages import StreamTurn
from scaleqa.systems.fixed_window import Windows
from scaleqa.systems.protocol import Tools
from scaleqa.systems.registry import take
from tsim.presets import OFFICIAL
from tsim.segment import Buffer, DriftSettings, advance


class DriftWindow(Windows):
    """Windows that end where the talk drifts away."""

    def __init__(self, tools: Tools, *, segment: DriftSettings, k: int) -> None:
        """Starts empty."""
        super().__init__(tools, k)
        self._segment = segment
        self._buffer = Buffer()

    def cuts(self, turns: Sequence[StreamTurn]) -> Iterable[bool]:
        """A turn opens a window where the rule cuts before it."""
        vectors = self._embedder.embed([turn.text for turn in turns])
        for turn, vector in zip(turns, vectors, strict=True):
            words = len(turn.text.split())
            step = advance(self._segment, self._buffer, role=turn.role, words=words, vector=vector)
            self._buffer = step.buffer
            yield step.cut


def make(options: Mapping[str, str], tools: Tools) -> DriftWindow:
    """Opens the system; options: theta (0 for the paper's), k."""
    values = take(options, theta=0.0, k=5)
    segment = OFFICIAL.settings.segment
    if theta := float(values["theta"]):
        segment = replace(segment, threshold=theta)
    return DriftWindow(tools, segment=segment, k=int(values["k"]))
