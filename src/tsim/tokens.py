"""The project's one way to count tokens: 1.3 × whitespace words.

An estimate on purpose: it needs no tokenizer, is the same for every model, and is the unit in which
the paper packs its threads and reports its contexts.
"""


def from_words(words: int) -> int:
    """Turns a number of whitespace words into tokens, rounding half up in exact arithmetic."""
    return (13 * words + 5) // 10


def words_within(tokens: int) -> int:
    """Returns the most words that are no more than that many tokens."""
    return max(0, (10 * tokens + 4) // 13)


def estimate(text: str) -> int:
    """Estimates the tokens of a text."""
    return from_words(len(text.split()))
