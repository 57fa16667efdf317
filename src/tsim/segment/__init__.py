"""M1: cutting the turn stream into episodes as it flows."""

from tsim.segment.drift import Buffer, DriftSettings, Step, advance, refill

__all__ = ["Buffer", "DriftSettings", "Step", "advance", "refill"]
