"""Finding records that are too similar."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scaleqa.records.schema import Record
from scaleqa.records.text import ngrams
from tsim.embed import Embedder

GRAM = 5
LEXICAL_LIMIT = 0.30
COSINE_LIMIT = {"dialogue": 0.93, "question": 0.93}
ROWS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two records and their similarity.

    Attributes:
        measure: What was compared, and how.
        one: Id of the first record.
        two: Id of the second record.
        value: The similarity; 1 means identical.
        limit: The similarity from which records are near-duplicates.
    """

    measure: str
    one: str
    two: str
    value: float
    limit: float


PARTS: dict[str, Callable[[Record], str]] = {
    "dialogue": lambda record: record.text,
    "question": lambda record: record.question,
}


def lexical_pairs(records: Sequence[Record], count: int) -> list[Pair]:
    """Returns the closest pairs by shared five-word runs (Jaccard), and all near-duplicates."""
    out = []
    for part, text in PARTS.items():
        values = shared_runs([text(record) for record in records])
        ranked = sorted(values, key=lambda pair: (-values[pair], pair))
        best = [p for n, p in enumerate(ranked) if n < count or values[p] >= LEXICAL_LIMIT]
        out += [
            _pair(f"{part}: shared five-word runs", records, pair, values[pair], LEXICAL_LIMIT)
            for pair in best
        ]
    return out


def shared_runs(texts: Sequence[str]) -> dict[tuple[int, int], float]:
    """Returns the shared five-word runs (Jaccard) of all pairs of texts that share one."""
    grams = [ngrams(text, GRAM) for text in texts]
    holders: dict[str, list[int]] = defaultdict(list)
    for number, own in enumerate(grams):
        for gram in own:
            holders[gram].append(number)
    shared: dict[tuple[int, int], int] = defaultdict(int)
    for numbers in holders.values():
        for place, a in enumerate(numbers):
            for b in numbers[place + 1 :]:
                shared[a, b] += 1
    return {pair: both / len(grams[pair[0]] | grams[pair[1]]) for pair, both in shared.items()}


def embedding_pairs(records: Sequence[Record], embedder: Embedder, count: int) -> list[Pair]:
    """Returns the closest pairs by cosine of embeddings, and all near-duplicates."""
    out = []
    for part, text in PARTS.items():
        vectors = embedder.embed([text(record) for record in records])
        found: list[tuple[float, int, int]] = []
        for start in range(0, len(records), ROWS):
            scores = vectors[start : start + ROWS] @ vectors.T
            for row, values in enumerate(scores):
                a = start + row
                later = values[a + 1 :]
                if len(later):
                    b = int(later.argmax())
                    found.append((float(later[b]), a, a + 1 + b))
        found.sort(key=lambda item: (-item[0], item[1], item[2]))
        out += [
            _pair(f"{part}: cosine", records, (a, b), round(value, 4), COSINE_LIMIT[part])
            for number, (value, a, b) in enumerate(found)
            if number < count or value >= COSINE_LIMIT[part]
        ]
    return out


def _pair(
    measure: str, records: Sequence[Record], pair: tuple[int, int], value: float, limit: float
) -> Pair:
    one, two = (records[number].id for number in pair)
    return Pair(measure=measure, one=one, two=two, value=float(np.round(value, 4)), limit=limit)
