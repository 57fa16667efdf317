"""What other stores need to prove that they can take the default one's place."""

from tsim.testing.store import StoreConformance

__all__ = ["StoreConformance"]
