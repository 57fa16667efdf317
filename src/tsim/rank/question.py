"""A question's parts, and the weights of its words: higher for rare words and for names."""

import re
from collections.abc import Mapping

from tsim.index import TERM, Postings, distinct, terms
from tsim.words import english

# Characters that end a sentence; a capital after them does not indicate a name.
ENDS = frozenset(".!?:\n")
OPENING = " \t\"'“‘("
# Where a question begins to ask for something else.
ASKS_AGAIN = re.compile(
    r"(?:,?\s+and\s+|\?\s+(?:and\s+)?|;\s+)"
    r"(?=(?:(?:at|by|for|from|in|on|to|with)\s+)?"
    r"(?:what|where|which|who|whom|whose|when|why|how)\b)",
    re.IGNORECASE,
)
# Longer texts are no questions of a few parts, and shorter parts say too little by themselves.
MOST_CHARACTERS, MOST_PARTS, LEAST_WORDS = 400, 4, 3


def parts(text: str) -> list[str]:
    """Returns what a question asks for one after the other; nothing if it asks for one thing.

    Where did I buy the saw, and what did it cost? The answers may be in different places, and the
    vector of the whole question is near neither.
    """
    if len(text) > MOST_CHARACTERS:
        return []
    found = [part.strip() for part in ASKS_AGAIN.split(text)]
    if not 1 < len(found) <= MOST_PARTS or any(len(p.split()) < LEAST_WORDS for p in found):
        return []
    return found


def term_weights(
    text: str, postings: Postings, *, rarity_power: float, name_factor: float
) -> dict[str, float]:
    """Returns each term's share of a question's weight.

    The weight of a term is its rarity in the thread to a power, multiplied by a factor for names.
    Terms that do not occur in the thread are included, so that the other words count for less. If
    the question is not English, terms of the thread that such a term is a part of, or that are a
    part of it, take its place.
    """
    named = names(text)
    weights: dict[str, float] = {}
    foreign = not english(text)
    for term in sorted(distinct(text)):
        factor = name_factor if term in named else 1.0
        missing = foreign and not postings.document_frequency(term)
        found = (postings.related(term) if missing else []) or [term]
        for one in found:
            weight = postings.rarity(one) ** rarity_power * factor / len(found)
            weights[one] = weights.get(one, 0.0) + weight
    total = sum(weights.values())
    return {term: weight / total for term, weight in weights.items()} if total else {}


def information(weights: Mapping[str, float], postings: Postings) -> float:
    """Returns the weighted mean rarity of a question's words, in nats.

    It measures how informative it is to find them in a turn: words that occur in every tenth turn
    are no evidence, even if the question consists of them.
    """
    return sum(weight * postings.rarity(term) for term, weight in weights.items())


def names(text: str) -> frozenset[str]:
    """Returns the terms of a text that are written as names: capitalised inside a sentence."""
    found: set[str] = set()
    for match in TERM.finditer(text):
        if match[0][0].isupper():
            before = match.start() - 1
            while before >= 0 and text[before] in OPENING:
                before -= 1
            if before >= 0 and text[before] not in ENDS:
                found.update(terms(match[0]))
    return frozenset(found)
