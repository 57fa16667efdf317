"""Late episodes: nothing is cut at ingest; every span competes when a question comes."""

from tsim.engine.late.engine import LateEngine, LateSettings

__all__ = ["LateEngine", "LateSettings"]
