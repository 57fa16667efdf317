"""M1: cutting the turn stream into episodes as it flows, or weighing where it could be cut."""

from tsim.segment.confidence import (
    AFTER,
    BEFORE,
    ConfidenceSettings,
    confidence,
    confidences,
    cosines,
    log_odds,
)
from tsim.segment.drift import Buffer, DriftSettings, Step, advance, refill
from tsim.segment.links import Links, LinkSettings, interleaved, members, replies

__all__ = [
    "AFTER",
    "BEFORE",
    "Buffer",
    "ConfidenceSettings",
    "DriftSettings",
    "LinkSettings",
    "Links",
    "Step",
    "advance",
    "confidence",
    "confidences",
    "cosines",
    "interleaved",
    "log_odds",
    "members",
    "refill",
    "replies",
]
