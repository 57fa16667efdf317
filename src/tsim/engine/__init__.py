"""Engines: the working state of one thread in RAM, which adds, searches and forgets turns."""

from tsim.engine.episodes import EpisodeEngine, EpisodeSettings
from tsim.engine.late import LateEngine, LateSettings
from tsim.engine.outline import Outline, Reply
from tsim.engine.protocol import Engine, Found, Host, Query, Settings

__all__ = [
    "Engine",
    "EpisodeEngine",
    "EpisodeSettings",
    "Found",
    "Host",
    "LateEngine",
    "LateSettings",
    "Outline",
    "Query",
    "Reply",
    "Settings",
]
