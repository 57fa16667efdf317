"""Background chat: the authored pool that ships, and loaders for public corpora."""

from scaleqa.noise.formats import FORMATS
from scaleqa.noise.pool import Dialogue, Pool, PoolReport, load_pool, shipped_pool

__all__ = ["FORMATS", "Dialogue", "Pool", "PoolReport", "load_pool", "shipped_pool"]
