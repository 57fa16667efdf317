"""Parts of the engine that other retrieval systems may build on.

Whatever is compared with the engine should differ from it in method, not in how it counts tokens or
breaks ties. So these parts are public; the modules that they come from are not.

Search
    `DenseIndex`: a growing matrix of vectors, searched exactly.
    `Postings`: a growing BM25 index, which also tells how much of some words each text covers.
    `terms`, `distinct`: the words of a text as the index sees them, all or each once.
    `names`: those of them that are written as names.
    `best`: the places of the highest scores, ties by place.
    `unit`: rows scaled to length one.
    `Vector`, `Vectors`: the types of one vector and of a matrix of them.

Cutting a stream into episodes
    `Segmenter`: what a rule that cuts as turns arrive must do.
    `DriftRule`: the paper's rule.
    `Arrival`, `Step`: what such a rule takes and returns.
    `cuts`: where a rule cuts a list of turns.
    `ConfidenceSettings`: the constants of boundary confidences.
    `gap_confidences`: how likely a new topic begins at each gap between turns.

Length
    `tokens`: the one way to count tokens: `estimate`, `from_words`, `words_within`.
"""

from tsim import tokens
from tsim.index import DenseIndex, Postings, distinct, terms
from tsim.rank import names
from tsim.segment import (
    Arrival,
    ConfidenceSettings,
    DriftRule,
    Segmenter,
    Step,
    cuts,
    gap_confidences,
)
from tsim.vectors import Vector, Vectors, best, unit

__all__ = [
    "Arrival",
    "ConfidenceSettings",
    "DenseIndex",
    "DriftRule",
    "Postings",
    "Segmenter",
    "Step",
    "Vector",
    "Vectors",
    "best",
    "cuts",
    "distinct",
    "gap_confidences",
    "names",
    "terms",
    "tokens",
    "unit",
]
