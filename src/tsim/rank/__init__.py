"""M3: ranking episodes by evidence; choosing spans of turns within a budget."""

from tsim.rank.evidence import ClusterHit, Ranked, RankSettings, Seed, ViewHit, rank
from tsim.rank.naming import Naming, name
from tsim.rank.packing import Prices, gather, pack
from tsim.rank.question import information, names, parts, term_weights
from tsim.rank.reentry import (
    BESIDE,
    MAX_EXTENT,
    ReentrySettings,
    clues,
    episode_extent,
    reentry_values,
)
from tsim.rank.spans import (
    Paths,
    SpanSettings,
    Values,
    inherited,
    paths,
    relevance,
    spread,
    turn_values,
)

__all__ = [
    "BESIDE",
    "MAX_EXTENT",
    "ClusterHit",
    "Naming",
    "Paths",
    "Prices",
    "RankSettings",
    "Ranked",
    "ReentrySettings",
    "Seed",
    "SpanSettings",
    "Values",
    "ViewHit",
    "clues",
    "episode_extent",
    "gather",
    "information",
    "inherited",
    "name",
    "names",
    "pack",
    "parts",
    "paths",
    "rank",
    "reentry_values",
    "relevance",
    "spread",
    "term_weights",
    "turn_values",
]
