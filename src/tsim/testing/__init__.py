"""Test suites for implementations of `tsim` interfaces."""

from tsim.testing.store import StoreConformance

__all__ = ["StoreConformance"]
