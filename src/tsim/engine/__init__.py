"""A thread in memory: what the façade asks to grow, to search and to forget."""

from tsim.engine.episodes import EpisodeEngine, EpisodeSettings
from tsim.engine.protocol import Engine, Found, Tools, ViewHits

__all__ = ["Engine", "EpisodeEngine", "EpisodeSettings", "Found", "Tools", "ViewHits"]
