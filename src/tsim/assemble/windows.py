"""Which part of a long episode is shown."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSettings:
    """How much of an episode is shown.

    Attributes:
        turns: Maximum number of turns of one episode.
        overlap: Number of turns shared by adjacent windows of a longer episode.
    """

    turns: int = 8
    overlap: int = 2


def window(settings: WindowSettings, scores: Sequence[float]) -> tuple[int, int]:
    """Chooses the part of an episode to show.

    An episode with more than `turns` turns is cut into windows of that size, each sharing `overlap`
    turns with the previous one. The window with the highest sum of scores is shown, the earliest in
    case of a tie.

    Args:
        settings: Size and overlap of windows.
        scores: Each turn's similarity with the query.

    Returns:
        The first place, and the place after the last.
    """
    count = len(scores)
    if count <= settings.turns:
        return 0, count
    step = settings.turns - settings.overlap
    starts = [*range(0, count - settings.turns, step), count - settings.turns]
    start = max(starts, key=lambda s: (sum(scores[s : s + settings.turns]), -s))
    return start, start + settings.turns
