"""A thread in memory: what the façade asks to grow, to search and to forget."""

from tsim.engine.episodes import EpisodeEngine, EpisodeSettings
from tsim.engine.late import LateEngine, LateSettings
from tsim.engine.protocol import Engine, Found, Query, Settings, Tools

__all__ = [
    "Engine",
    "EpisodeEngine",
    "EpisodeSettings",
    "Found",
    "LateEngine",
    "LateSettings",
    "Query",
    "Settings",
    "Tools",
]
