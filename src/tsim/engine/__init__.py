"""A thread in memory: what the façade asks to grow, to search and to forget."""

from tsim.engine.episodes import EpisodeEngine, EpisodeSettings
from tsim.engine.late import LateEngine, LateSettings
from tsim.engine.protocol import Engine, Found, Host, Query, Settings

__all__ = [
    "Engine",
    "EpisodeEngine",
    "EpisodeSettings",
    "Found",
    "Host",
    "LateEngine",
    "LateSettings",
    "Query",
    "Settings",
]
