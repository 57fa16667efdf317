"""M2: what an episode looks like to the indices."""

from tsim.views.clusters import Clusters, ClusterSettings, describe
from tsim.views.summary import SummarySettings, summarise

__all__ = ["ClusterSettings", "Clusters", "SummarySettings", "describe", "summarise"]
