"""RAPTOR without blocks: a tree of summaries over clusters of chunks, searched collapsed."""

from scaleqa.systems.raptor.system import SYSTEM, Raptor

__all__ = ["SYSTEM", "Raptor"]
