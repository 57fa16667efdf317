"""BM25 over texts that keep coming: an append costs the length of the text."""

import math
import re
from array import array
from collections import Counter

import numpy as np

from tsim.vectors import Vector

TERM = re.compile(r"\w+(?:['’-]\w+)*")
# Words so frequent in English that they tell nothing; everything else earns its weight by rarity.
STOP = frozenset(
    "a an and are as at be been but by can did do does for from had has have he her him his how i "
    "if in is it its me my no not of on or our she should so that the their them then there these "
    "they this to us was we were what when where which who will with would you your".split()
)


def terms(text: str) -> list[str]:
    """The terms of a text: lower case, plural and possessive endings off, no stop words."""
    found = []
    for word in TERM.findall(text.lower()):
        cleaned = word.replace("’", "'").removesuffix("'s")
        if cleaned not in STOP:
            plural = len(cleaned) > 3 and cleaned.endswith("s") and not cleaned.endswith("ss")
            found.append(cleaned[:-1] if plural else cleaned)
    return found


class Postings:
    """An incremental BM25 index; documents are numbered from 0 as they come."""

    def __init__(self, *, k1: float = 1.2, b: float = 0.75) -> None:
        """Starts empty."""
        self.k1 = k1
        self.b = b
        self._documents: dict[str, array[int]] = {}
        self._counts: dict[str, array[int]] = {}
        self._lengths: array[int] = array("q")
        self._total = 0

    def __len__(self) -> int:
        return len(self._lengths)

    def append(self, text: str) -> None:
        """Adds the next document."""
        number = len(self._lengths)
        counted = Counter(terms(text))
        for term, count in counted.items():
            if term not in self._documents:
                self._documents[term] = array("q")
                self._counts[term] = array("q")
            self._documents[term].append(number)
            self._counts[term].append(count)
        length = counted.total()
        self._lengths.append(length)
        self._total += length

    def rarity(self, term: str) -> float:
        """The inverse document frequency of a term."""
        holders = len(self._documents.get(term, ()))
        return math.log(1 + (len(self) - holders + 0.5) / (holders + 0.5))

    def scores(self, query: str) -> Vector:
        """Returns the BM25 score of every document."""
        out = np.zeros(len(self), dtype=np.float32)
        if not len(self):
            return out
        lengths = np.frombuffer(self._lengths, dtype=np.int64)
        mean = max(1.0, self._total / len(self))
        for term, wanted in sorted(Counter(terms(query)).items()):
            if term not in self._documents:
                continue
            documents = np.frombuffer(self._documents[term], dtype=np.int64)
            counts = np.frombuffer(self._counts[term], dtype=np.int64)
            scale = self.k1 * (1 - self.b + self.b * lengths[documents] / mean)
            weight = wanted * self.rarity(term)
            out[documents] += (weight * counts * (self.k1 + 1) / (counts + scale)).astype(
                np.float32
            )
        return out
