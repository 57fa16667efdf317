"""RAPTOR without blocks: a tree of summaries over clusters of chunks, searched collapsed."""

from scaleqa.systems.raptor.system import Raptor, make

__all__ = ["Raptor", "make"]
