"""Exact search over a thread, by vectors and by words."""

from tsim.index.dense import DenseIndex
from tsim.index.postings import TERM, Postings, distinct, terms
from tsim.index.speakers import Speakers
from tsim.index.windows import WindowIndex

__all__ = ["TERM", "DenseIndex", "Postings", "Speakers", "WindowIndex", "distinct", "terms"]
