"""An incremental BM25 index; appending takes time proportional to the length of the text."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tsim.index.ranges import Ranges
from tsim.index.taking import Places, consecutive, moved, renumbered, taken
from tsim.index.windows import summed
from tsim.vectors import Vector
from tsim.words import DENSE, extent, terms

# Number of runs up to which summing over the whole thread is faster than sorting the runs that
# contain a term.
SHORT = 20_000
# Letters of the shortest word that counts as a part of another; the most related words that count.
LEAST_PART = 4
# Longer words are no compounds but data, whose parts are too many to look for.
LONGEST_COMPOUND = 64
MOST_RELATED = 4


class Postings:
    """An incremental BM25 index; documents are numbered from 0 in the order they are added."""

    def __init__(self, *, k1: float = 1.2, b: float = 0.75) -> None:
        """Starts empty."""
        self.k1 = k1
        self.b = b
        self._documents: dict[str, array[int]] = {}
        self._counts: dict[str, array[int]] = {}
        self._lengths: array[int] = array("I")
        # The other way round: the numbers of each document's terms, and where they end.
        self._numbers: dict[str, int] = {}
        self._terms: list[str] = []
        self._said: array[int] = array("I")
        self._ends: array[int] = array("Q", [0])
        self._words = 0.0
        self._listed = 0, ""
        self._total = 0

    def __len__(self) -> int:
        return len(self._lengths)

    def append(self, text: str) -> None:
        """Adds a document."""
        number = len(self._lengths)
        counted = Counter(terms(text))
        for term, count in counted.items():
            documents = self._documents.get(term)
            if documents is None:
                documents = self._documents[term] = array("I")
                self._counts[term] = array("I")
                self._numbers[term] = len(self._terms)
                self._terms.append(term)
                self._words += extent([term])
            documents.append(number)
            self._counts[term].append(count)
        self._said.extend(map(self._numbers.__getitem__, counted))
        self._ends.append(len(self._said))
        length = counted.total()
        self._lengths.append(length)
        self._total += length

    def kept(self, places: Places) -> "Postings":
        """Returns the index of some documents alone, as if there had never been others."""
        out = Postings(k1=self.k1, b=self.b)
        out._lengths = taken(self._lengths, places)
        out._total = sum(out._lengths)
        ends = np.frombuffer(self._ends, dtype=np.uint64).astype(np.int64)
        sizes = np.diff(ends)[places]
        out._ends.frombytes(np.cumsum(sizes).astype(np.uint64).tobytes())
        said = taken(self._said, consecutive(ends[places], sizes))
        former, out._said = renumbered(np.frombuffer(said, dtype=np.uint32))
        out._terms = [self._terms[number] for number in former]
        out._numbers = {term: number for number, term in enumerate(out._terms)}
        number_of = moved(places, len(self))
        for term in out._terms:
            documents = number_of[np.frombuffer(self._documents[term], dtype=np.uint32)]
            here = np.flatnonzero(documents >= 0)
            out._documents[term] = array("I", documents[here].astype(np.uint32).tobytes())
            out._counts[term] = taken(self._counts[term], here)
            out._words += extent([term])
        return out

    def document_frequency(self, term: str) -> int:
        """Returns the number of documents that contain a term."""
        return len(self._documents.get(term, ()))

    def terms(self, document: int) -> list[str]:
        """Returns the different terms of a document."""
        first, last = self._ends[document], self._ends[document + 1]
        return [self._terms[number] for number in self._said[first:last]]

    @property
    def vocabulary(self) -> int:
        """The number of different words."""
        return round(self._words)

    def related(self, term: str) -> list[str]:
        """Returns terms of the index that a term is a part of or that are a part of it.

        Compounds are written as one word ("Geburtstagsgeschenk"), with a hyphen, or as identifiers
        ("max_tokens"). Parts are looked for at their beginnings and ends, the closest first.
        """
        if not LEAST_PART <= len(term) <= LONGEST_COMPOUND or DENSE.search(term):
            return []
        ends = [term[:end] for end in range(LEAST_PART, len(term))]
        ends += [term[begin:] for begin in range(1, len(term) - LEAST_PART + 1)]
        found = {part for part in ends if part in self._documents}
        part = re.escape(term)
        found.update(re.findall(rf"^(?:{part}\S+|\S+{part})$", self._vocabulary(), re.MULTILINE))
        return sorted(found, key=lambda one: (abs(len(one) - len(term)), one))[:MOST_RELATED]

    def _vocabulary(self) -> str:
        """Returns all terms, one per line."""
        if self._listed[0] != len(self._documents):
            self._listed = len(self._documents), "\n".join(self._documents)
        return self._listed[1]

    def rarity(self, term: str) -> float:
        """Returns the inverse document frequency of a term."""
        return self.rarity_at(self.document_frequency(term))

    def rarity_at(self, documents: int) -> float:
        """Returns the inverse document frequency of a term that occurs in `documents` documents."""
        return math.log(1 + (len(self) - documents + 0.5) / (documents + 0.5))

    def scores(self, query: str) -> Vector:
        """Returns the BM25 score of every document."""
        out = np.zeros(len(self), dtype=np.float32)
        if not len(self):
            return out
        lengths = np.frombuffer(self._lengths, dtype=np.uint32)
        mean = max(1.0, self._total / len(self))
        for term, wanted in sorted(Counter(terms(query)).items()):
            if term not in self._documents:
                continue
            documents = np.frombuffer(self._documents[term], dtype=np.uint32)
            counts = np.frombuffer(self._counts[term], dtype=np.uint32)
            scale = self.k1 * (1 - self.b + self.b * lengths[documents] / mean)
            weight = wanted * self.rarity(term)
            out[documents] += (weight * counts * (self.k1 + 1) / (counts + scale)).astype(
                np.float32
            )
        return out

    def coverage(self, weights: Mapping[str, float], width: int = 1) -> Vector:
        """Returns the weight of the terms that occur in each run of `width` documents.

        A term that occurs n times in a run counts n / (n + 1) of its weight, so that repetitions
        add less and less.
        """
        if width == 1:
            return self._covered(weights)
        count = max(0, len(self) - width + 1)
        out = np.zeros(count, dtype=np.float32)
        for term, weight in sorted(weights.items()):
            if term in self._documents and count:
                places, times = self._runs(term, width, count)
                out[places] += np.float32(weight) * (times / (times + 1))
        return out

    def run_coverage(self, weights: Mapping[str, float], runs: Ranges) -> Vector:
        """Returns the weight of the terms that occur in each of some runs of documents."""
        out = np.zeros(len(runs), dtype=np.float32)
        for term, weight in sorted(weights.items()):
            if term in self._documents and len(runs):
                documents = np.frombuffer(self._documents[term], dtype=np.uint32).astype(np.int64)
                counts = np.frombuffer(self._counts[term], dtype=np.uint32)
                times = runs.sums_at(documents, counts, len(self)).astype(np.float32)
                out += np.float32(weight) * (times / (times + 1))
        return out

    def counts(self, term: str, places: Places) -> npt.NDArray[np.int64]:
        """Returns how often a term of the index occurs in each of some documents."""
        documents = np.frombuffer(self._documents[term], dtype=np.uint32)
        counts = np.frombuffer(self._counts[term], dtype=np.uint32)
        at = np.minimum(documents.searchsorted(places.astype(np.uint32)), len(documents) - 1)
        return np.where(documents[at] == places, counts[at], 0).astype(np.int64)

    def occurrences(
        self, wanted: Iterable[str], places: Sequence[int]
    ) -> list[tuple[str, int, int]]:
        """Returns which terms occur in which of some documents: (term, document, count)."""
        columns = self._columns(wanted)
        asked = np.zeros(len(self), dtype=np.bool_)
        asked[[place for place in places if place < len(self)]] = True
        here = np.flatnonzero(asked[columns.documents])
        which = np.searchsorted(np.cumsum(columns.lengths), here, side="right").tolist()
        documents, counts = columns.documents[here].tolist(), columns.counts[here].tolist()
        return list(zip((columns.terms[n] for n in which), documents, counts, strict=True))

    def _covered(self, weights: Mapping[str, float]) -> Vector:
        """Returns the coverage of single documents, vectorised over hundreds of terms."""
        columns = self._columns(weights)
        own = np.array([weights[term] for term in columns.terms], dtype=np.float32)
        times = columns.counts.astype(np.float32)
        out = np.zeros(len(self), dtype=np.float32)
        gained = np.repeat(own, columns.lengths) * (times / (times + 1))
        np.add.at(out, columns.documents.astype(np.int64), gained)
        return out

    def _columns(self, wanted: Iterable[str]) -> "_Columns":
        """Returns the concatenated postings of some terms."""
        held = [term for term in sorted(wanted) if term in self._documents]
        documents, counts = (
            np.frombuffer(b"".join(places[term] for term in held), dtype=np.uint32)
            for places in (self._documents, self._counts)
        )
        lengths = [len(self._documents[term]) for term in held]
        return _Columns(terms=held, lengths=lengths, documents=documents, counts=counts)

    def _runs(self, term: str, width: int, count: int) -> tuple[Places | slice, Vector]:
        """Returns runs that include all those with a term, and the term's count in each run."""
        documents = np.frombuffer(self._documents[term], dtype=np.uint32).astype(np.int64)
        counts = np.frombuffer(self._counts[term], dtype=np.uint32).astype(np.float32)
        if count < SHORT or len(documents) * width * 4 > count:  # sum along the whole thread
            times = np.zeros(len(self), dtype=np.float32)
            times[documents] = counts
            return slice(None), summed(times, width)
        starts = (documents[:, None] - np.arange(width)).ravel()
        inside = (starts >= 0) & (starts < count)
        starts = starts[inside]
        ordered = np.sort(starts)
        places = ordered[np.diff(ordered, prepend=-1) > 0]
        which = np.searchsorted(places, starts)
        weights = np.repeat(counts, width)[inside]
        return places, np.bincount(which, weights=weights).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Columns:
    """Postings of several terms: the terms, the number of postings of each, then all postings."""

    terms: list[str]
    lengths: list[int]
    documents: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint32]
