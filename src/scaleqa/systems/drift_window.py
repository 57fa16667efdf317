"""Episodes alone: cut by the paper's drift rule, one vector each, the five nearest.

The stage of the paper's ablation between fixed windows and the full method: its segmentation with
none of its views and none of its ranking.
"""

from collections.abc import Iterable, Mapping, Sequence

from scaleqa.packages import StreamTurn
from scaleqa.systems.fixed_window import Windows
from scaleqa.systems.protocol import Tools
from scaleqa.systems.registry import take
from tsim.toolkit import Arrival, DriftRule


class DriftWindow(Windows):
    """Windows that end where the talk drifts away."""

    def __init__(self, tools: Tools, *, rule: DriftRule, k: int) -> None:
        """Starts empty."""
        super().__init__(tools, k)
        self._rule = rule
        self._state = rule.resume(())

    def cuts(self, turns: Sequence[StreamTurn]) -> Iterable[bool]:
        """A turn opens a window where the rule cuts before it."""
        vectors = self._embedder.embed([turn.text for turn in turns])
        for turn, vector in zip(turns, vectors, strict=True):
            words = len(turn.text.split())
            arrival = Arrival(role=turn.role, words=words, vector=vector)
            step = self._rule.advance(self._state, arrival)
            self._state = step.state
            yield step.cut


def make(options: Mapping[str, str], tools: Tools) -> DriftWindow:
    """Opens the system; options: theta (0 for the paper's), k."""
    values = take(options, theta=0.0, k=5)
    theta = float(values["theta"])
    rule = DriftRule(min_similarity=theta) if theta else DriftRule()
    return DriftWindow(tools, rule=rule, k=int(values["k"]))
