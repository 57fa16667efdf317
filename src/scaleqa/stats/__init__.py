"""Statistics: pure and seeded."""

from scaleqa.stats.intervals import Interval, wilson

__all__ = ["Interval", "wilson"]
