"""Parts of the engine for use in other retrieval systems.

Systems that are compared with the engine should differ from it in method, not in how they count
tokens or break ties. These parts are therefore public; the modules that define them are not.

Search
    `DenseIndex`: a growing matrix of vectors, searched exactly.
    `Postings`: a growing BM25 index, which also computes how much of some terms each text covers.
    `terms`, `distinct`: the terms of a text as the index uses them, with or without repetitions.
    `names`: the terms that are written as names.
    `best`: the positions of the highest scores, ties by position.
    `unit`: scales rows to length one.
    `Vector`, `Vectors`: the types of one vector and of a matrix of them.

Cutting a stream into episodes
    `Segmenter`: the interface of a rule that cuts as turns arrive.
    `DriftRule`: the paper's rule.
    `Arrival`, `Step`: the input and output of such a rule.
    `cuts`: where a rule cuts a list of turns.
    `ConfidenceSettings`: the constants of boundary confidences.
    `gap_confidences`: how likely a new topic begins at each gap between turns.

Contexts
    `said`: what a speaker said, so that it cannot be taken for what somebody else said.
    `indented`: a text whose further lines cannot be taken for anything else.

Length
    `tokens`: how tokens are counted: by words, as in the paper (`by_words`, `from_words`,
        `words_within`), or for any script (`estimate`).
"""

from tsim import tokens
from tsim.assemble import indented, said
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
    "indented",
    "names",
    "said",
    "terms",
    "tokens",
    "unit",
]
