"""Exact search over a thread: by meaning and by words."""

from tsim.index.dense import DenseIndex
from tsim.index.postings import TERM, Postings, distinct, terms
from tsim.index.windows import WindowIndex

Rows = DenseIndex  # the former name

__all__ = ["TERM", "DenseIndex", "Postings", "Rows", "WindowIndex", "distinct", "terms"]
