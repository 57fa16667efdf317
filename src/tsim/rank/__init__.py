"""M3: from hits in the views to ranked episodes; from windows to spans worth their tokens."""

from tsim.rank.evidence import ClusterHit, Ranked, RankSettings, Seed, ViewHit, rank
from tsim.rank.packing import HEADING, gather, pack
from tsim.rank.question import names, told, weigh
from tsim.rank.reentry import BESIDE, FAR, ReentrySettings, clues, extent, links
from tsim.rank.spans import Paths, SpanSettings, Values, inherited, paths, relevance, values

__all__ = [
    "BESIDE",
    "FAR",
    "HEADING",
    "ClusterHit",
    "Paths",
    "RankSettings",
    "Ranked",
    "ReentrySettings",
    "Seed",
    "SpanSettings",
    "Values",
    "ViewHit",
    "clues",
    "extent",
    "gather",
    "inherited",
    "links",
    "names",
    "pack",
    "paths",
    "rank",
    "relevance",
    "told",
    "values",
    "weigh",
]
