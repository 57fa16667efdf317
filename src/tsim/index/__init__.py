"""Exact cosine search over a thread's vectors."""

from tsim.index.rows import Rows

__all__ = ["Rows"]
