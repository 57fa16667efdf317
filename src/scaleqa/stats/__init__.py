"""Statistics: pure and seeded."""

from scaleqa.stats.intervals import Interval, wilson
from scaleqa.stats.paired import Difference, kappa, mcnemar, paired_bootstrap

__all__ = ["Difference", "Interval", "kappa", "mcnemar", "paired_bootstrap", "wilson"]
