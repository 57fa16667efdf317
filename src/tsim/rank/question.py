"""What a question's words weigh: rare ones much, names more."""

from collections.abc import Mapping

from tsim.index import TERM, Postings, distinct, terms

# What ends a sentence; a capital behind it says nothing.
ENDS = frozenset(".!?:\n")
OPENING = " \t\"'“‘("


def term_weights(
    text: str, postings: Postings, *, rarity_power: float, name_factor: float
) -> dict[str, float]:
    """Returns each term's share of a question's weight.

    A term weighs its rarity in the thread to a power, a name some times that. Terms that never
    occurred count too: where they carry the weight, words alone must not decide.
    """
    named = names(text)
    weights = {
        term: postings.rarity(term) ** rarity_power * (name_factor if term in named else 1.0)
        for term in sorted(distinct(text))
    }
    total = sum(weights.values())
    return {term: weight / total for term, weight in weights.items()} if total else {}


def information(weights: Mapping[str, float], postings: Postings) -> float:
    """Returns the mean rarity of a question's words, in nats: how much it tells to find them.

    Words that occur in every tenth turn point nowhere, however much of the question they are.
    """
    return sum(weight * postings.rarity(term) for term, weight in weights.items())


def names(text: str) -> frozenset[str]:
    """The terms of a text that are written as names: with a capital inside a sentence."""
    found: set[str] = set()
    for match in TERM.finditer(text):
        if match[0][0].isupper():
            before = match.start() - 1
            while before >= 0 and text[before] in OPENING:
                before -= 1
            if before >= 0 and text[before] not in ENDS:
                found.update(terms(match[0]))
    return frozenset(found)
