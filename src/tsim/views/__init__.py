"""M2: the summary and cluster views of episodes."""

from tsim.views.clusters import Clusters, ClusterSettings, describe
from tsim.views.summary import SummarySettings, summarise

__all__ = ["ClusterSettings", "Clusters", "SummarySettings", "describe", "summarise"]
