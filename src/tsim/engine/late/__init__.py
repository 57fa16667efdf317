"""Late episodes: nothing is cut when turns are added; spans are chosen at query time."""

from tsim.engine.late.engine import LateEngine, LateSettings

__all__ = ["LateEngine", "LateSettings"]
