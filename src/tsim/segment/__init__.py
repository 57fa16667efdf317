"""M1: cuts the stream of turns into episodes, or estimates where topics begin."""

from tsim.segment.confidence import (
    AFTER,
    BEFORE,
    ConfidenceSettings,
    confidence,
    confidences,
    cosines,
    gap_confidences,
    log_odds,
)
from tsim.segment.drift import DriftRule, DriftState
from tsim.segment.links import Links, LinkSettings, interleaved, membership, replies
from tsim.segment.protocol import Arrival, Segmenter, Step, cuts

__all__ = [
    "AFTER",
    "BEFORE",
    "Arrival",
    "ConfidenceSettings",
    "DriftRule",
    "DriftState",
    "LinkSettings",
    "Links",
    "Segmenter",
    "Step",
    "confidence",
    "confidences",
    "cosines",
    "cuts",
    "gap_confidences",
    "interleaved",
    "log_odds",
    "membership",
    "replies",
]
