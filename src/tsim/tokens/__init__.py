"""Lengths of texts in tokens: an estimate for any script, and the paper's count by words."""

from tsim.tokens.measure import ESTIMATE, WORDS, Count, Measure, counted
from tsim.tokens.scripts import estimate
from tsim.tokens.wordcount import by_words, from_words, words_within

__all__ = [
    "ESTIMATE",
    "WORDS",
    "Count",
    "Measure",
    "by_words",
    "counted",
    "estimate",
    "from_words",
    "words_within",
]
