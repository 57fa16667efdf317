"""M3: from hits in the views to ranked episodes."""

from tsim.rank.evidence import ClusterHit, Ranked, RankSettings, Seed, ViewHit, rank

__all__ = ["ClusterHit", "RankSettings", "Ranked", "Seed", "ViewHit", "rank"]
