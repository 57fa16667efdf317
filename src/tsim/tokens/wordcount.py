"""Lengths in words, and tokens as 1.3 × whitespace-separated words.

That count needs no tokenizer, is the same for every model, and is the unit in which the paper packs
its threads and reports its contexts. It says nothing about scripts without spaces.
"""

import re

from tsim.tokens.scripts import UNIT, size

# Scripts that do not separate words by spaces: Thai to Myanmar, Khmer, kana, Han.
UNSPACED = re.compile(
    "[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
# Longer runs of characters are no words: encoded files, minified code.
LONGEST_WORD = 200


def from_words(words: int) -> int:
    """Converts a number of words to tokens, rounding half up in exact arithmetic."""
    return (13 * words + 5) // 10


def words_within(tokens: int) -> int:
    """Returns the largest number of words that fit into a number of tokens."""
    return max(0, (10 * tokens + 4) // 13)


def by_words(text: str) -> int:
    """Returns 1.3 × the number of whitespace-separated words of a text, rounded."""
    return from_words(len(text.split()))


def words(text: str) -> int:
    """Returns the length of a text in words, as a feature: comparable between scripts.

    These are the whitespace-separated words, unless most of the text has no spaces: then, what has
    none is counted by its estimated tokens, at 1.3 tokens a word.
    """
    spaced = text.split()
    unspaced = sum(size(word) for word in spaced if len(word) > LONGEST_WORD)
    if not text.isascii():
        unspaced += sum(
            size(run) for word in spaced if len(word) <= LONGEST_WORD for run in _unspaced(word)
        )
    return max(len(spaced), 10 * unspaced // (13 * UNIT))


def _unspaced(word: str) -> list[str]:
    runs: list[str] = UNSPACED.findall(word)
    return runs
