"""Exact search over a thread: by meaning and by words."""

from tsim.index.postings import Postings, terms
from tsim.index.rows import Rows

__all__ = ["Postings", "Rows", "terms"]
