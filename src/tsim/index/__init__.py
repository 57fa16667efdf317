"""Exact search over a thread, by vectors and by words."""

from tsim.index.dense import DenseIndex
from tsim.index.postings import Postings
from tsim.index.ranges import Ranges
from tsim.index.speakers import Speakers
from tsim.index.windows import WindowIndex
from tsim.words import TERM, distinct, terms

__all__ = [
    "TERM",
    "DenseIndex",
    "Postings",
    "Ranges",
    "Speakers",
    "WindowIndex",
    "distinct",
    "terms",
]
