"""M3: from hits in the views to ranked episodes; from windows to spans worth their tokens."""

from tsim.rank.evidence import ClusterHit, Ranked, RankSettings, Seed, ViewHit, rank
from tsim.rank.packing import HEADING, gather, pack
from tsim.rank.question import names, weigh
from tsim.rank.spans import SpanSettings, Values, inherited, relevance, values

__all__ = [
    "HEADING",
    "ClusterHit",
    "RankSettings",
    "Ranked",
    "Seed",
    "SpanSettings",
    "Values",
    "ViewHit",
    "gather",
    "inherited",
    "names",
    "pack",
    "rank",
    "relevance",
    "values",
    "weigh",
]
