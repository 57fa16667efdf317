"""The records that are most similar to one record, by words and by meaning."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from scaleqa.records.duplicates import COSINE_LIMIT, GRAM, LEXICAL_LIMIT, PARTS, Pair
from scaleqa.records.schema import Record
from scaleqa.records.text import ngrams
from tsim.embed import Embedder
from tsim.toolkit import Vectors


class Nearest:
    """Finds the nearest records of each record; texts are indexed and embedded once."""

    def __init__(self, records: Sequence[Record], embedder: Embedder | None) -> None:
        """Indexes records.

        Args:
            records: The records.
            embedder: Used for similarity of meaning; None compares words alone.
        """
        self._ids = [record.id for record in records]
        self._grams: dict[str, list[set[str]]] = {}
        self._holders: dict[str, dict[str, list[int]]] = {}
        self._vectors: Mapping[str, Vectors] = {}
        for part, text in PARTS.items():
            grams = [ngrams(text(record), GRAM) for record in records]
            holders: dict[str, list[int]] = defaultdict(list)
            for number, own in enumerate(grams):
                for gram in own:
                    holders[gram].append(number)
            self._grams[part], self._holders[part] = grams, holders
        if embedder is not None and records:
            self._vectors = {
                part: embedder.embed([text(record) for record in records])
                for part, text in PARTS.items()
            }

    def of(self, number: int, count: int) -> list[Pair]:
        """Returns the nearest records of one, by each measure that finds any.

        Args:
            number: Its place among the records.
            count: How many by each measure.
        """
        found = []
        for part in PARTS:
            found += self._by_meaning(part, number, count)
            found += self._by_words(part, number, count)
        return found

    def _by_meaning(self, part: str, number: int, count: int) -> list[Pair]:
        if part not in self._vectors:
            return []
        vectors = self._vectors[part]
        scores = np.round(vectors @ vectors[number], 4)
        order = np.lexsort((np.arange(len(scores)), -scores))[: count + 1].tolist()
        limit = COSINE_LIMIT[part]
        best = [other for other in order if other != number][:count]
        return [self._pair(f"{part}: cosine", number, o, float(scores[o]), limit) for o in best]

    def _by_words(self, part: str, number: int, count: int) -> list[Pair]:
        grams, holders = self._grams[part], self._holders[part]
        own = grams[number]
        shared = Counter(other for gram in own for other in holders[gram] if other != number)
        values = {
            other: both / (len(own) + len(grams[other]) - both) for other, both in shared.items()
        }
        best = sorted(values, key=lambda other: (-values[other], other))[:count]
        measure = f"{part}: shared five-word runs"
        return [self._pair(measure, number, o, round(values[o], 4), LEXICAL_LIMIT) for o in best]

    def _pair(self, measure: str, one: int, two: int, value: float, limit: float) -> Pair:
        return Pair(
            measure=measure, one=self._ids[one], two=self._ids[two], value=value, limit=limit
        )
