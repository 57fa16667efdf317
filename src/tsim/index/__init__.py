"""Exact search over a thread: by meaning and by words."""

from tsim.index.postings import TERM, Postings, distinct, terms
from tsim.index.rows import Rows
from tsim.index.windows import Windows

__all__ = ["TERM", "Postings", "Rows", "Windows", "distinct", "terms"]
