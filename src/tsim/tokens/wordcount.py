"""Tokens as 1.3 × whitespace-separated words.

The count needs no tokenizer, is the same for every model, and is the unit in which the paper packs
its threads and reports its contexts. It says nothing about scripts without spaces.
"""


def from_words(words: int) -> int:
    """Converts a number of words to tokens, rounding half up in exact arithmetic."""
    return (13 * words + 5) // 10


def words_within(tokens: int) -> int:
    """Returns the largest number of words that fit into a number of tokens."""
    return max(0, (10 * tokens + 4) // 13)


def by_words(text: str) -> int:
    """Returns 1.3 × the number of whitespace-separated words of a text, rounded."""
    return from_words(len(text.split()))
