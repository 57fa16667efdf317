"""RAPTOR without blocks: a tree of summaries over clusters of chunks, searched as one list."""

from scaleqa.systems.raptor.system import SYSTEM, Raptor

__all__ = ["SYSTEM", "Raptor"]
