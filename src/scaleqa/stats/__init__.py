"""Statistics: pure functions; random ones take a seed."""

from scaleqa.stats.calibration import auroc, calibration_error, exact_error
from scaleqa.stats.intervals import Interval, mean_interval, median_interval, wilson
from scaleqa.stats.paired import Difference, kappa, mcnemar, paired_bootstrap
from scaleqa.stats.segmentation import exact_f1, half_segment, pk, window_diff

__all__ = [
    "Difference",
    "Interval",
    "auroc",
    "calibration_error",
    "exact_error",
    "exact_f1",
    "half_segment",
    "kappa",
    "mcnemar",
    "mean_interval",
    "median_interval",
    "paired_bootstrap",
    "pk",
    "wilson",
    "window_diff",
]
