"""An estimate of how many tokens a text has, without a tokenizer.

What tokenizers agree on is simple: a common English word is one token; other words are cut where
their letters are unusual; digits and punctuation are nearly one token each; a character of another
script costs more the rarer the script is in what tokenizers were trained on. The costs below were
fitted so that no text of a corpus in many languages, code and data (`python bench/tokens.py`) has
more than 1/0.93 of the estimated tokens with any of eight tokenizers. Budgets are limits, so the
estimate leans to the upper side: for most texts it is higher than the count of a given tokenizer,
and for languages that tokenizers treat unequally (Armenian, Tamil) much higher.
"""

import re
from bisect import bisect_right
from collections import Counter
from functools import lru_cache

from tsim.tokens.english import COMMON

# Sizes are in hundredths of a token.
UNIT = 100
# A word is as many tokens as it has unusual letter triples, and one more.
WORD, UNUSUAL = 90, 44
CAPITALS, CAPITAL = 40, 33
# Longer runs of letters are not natural words: see `_letters`.
LONGEST = 64
DIGIT, BEFORE_DIGITS = 97, 88
PUNCTUATION, LINE_BREAKS, WIDE_SPACE, CONTROL = 87, 42, 42, 100

LETTERS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
SPACE_BEFORE_DIGIT = re.compile(rb" (?=[0-9])")
LINES = re.compile(rb"[\r\n]+")
WIDE = re.compile(rb"[ \t]{2,}|\t")
DIGITS = b"0123456789"
MARKS = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
CONTROLS = bytes(code for code in (*range(32), 127) if code not in b"\t\n\r")

# The first character of each range above ASCII, and the cost of a character in it.
_RANGES = (
    (0x80, 110),  # punctuation of Latin-1
    (0xC0, 122),  # letters with accents
    (0x100, 75),
    (0x250, 150),  # phonetic letters
    (0x300, 120),  # combining marks
    (0x370, 97),  # Greek
    (0x400, 92),  # Cyrillic
    (0x530, 205),  # Armenian
    (0x590, 112),  # Hebrew
    (0x600, 113),  # Arabic
    (0x780, 300),
    (0x900, 120),  # Devanagari
    (0x980, 143),  # Bengali
    (0xA00, 190),  # Gurmukhi to Malayalam
    (0xE00, 88),  # Thai
    (0xE80, 300),
    (0x10A0, 205),  # Georgian
    (0x1100, 300),
    (0x1200, 280),  # Ethiopic
    (0x13A0, 300),
    (0x1E00, 40),  # Vietnamese letters
    (0x1F00, 200),  # Greek with accents
    (0x2000, 150),  # typographic punctuation
    (0x2070, 185),  # symbols
    (0x2500, 100),  # boxes
    (0x25A0, 185),
    (0x3000, 150),  # Chinese and Japanese punctuation
    (0x3040, 75),  # kana
    (0x3100, 300),
    (0x3400, 136),  # Han
    (0xA000, 300),
    (0xAC00, 125),  # Hangul
    (0xD7B0, 300),
    (0xFE00, 185),  # variation selectors
    (0xFE10, 300),
    (0xFF00, 150),  # full-width forms
    (0xFFF0, 300),
    (0x10000, 400),
    (0x1F000, 340),  # emoji
    (0x1FB00, 400),
)
_STARTS = tuple(start for start, _ in _RANGES)


def estimate(text: str) -> int:
    """Estimates the number of tokens in a text, rounding up."""
    return -(-size(text) // UNIT)


def size(text: str) -> int:
    """Returns the estimated number of tokens in a text, in hundredths."""
    raw = text.encode("utf-8", "surrogatepass")
    total = sum(map(_letters, LETTERS.findall(text)))
    total += PUNCTUATION * _count(raw, MARKS) + CONTROL * _count(raw, CONTROLS)
    if digits := _count(raw, DIGITS):
        total += DIGIT * digits + BEFORE_DIGITS * len(SPACE_BEFORE_DIGIT.findall(raw))
    if b"\n" in raw or b"\r" in raw:
        total += LINE_BREAKS * len(LINES.findall(raw))
    if b"  " in raw or b"\t" in raw:
        total += WIDE_SPACE * len(WIDE.findall(raw))
    if len(raw) > len(text):
        total += sum(count * _foreign(char) for char, count in Counter(text).items())
    return total


def _count(raw: bytes, characters: bytes) -> int:
    return len(raw) - len(raw.translate(None, characters))


@lru_cache(maxsize=1 << 16)
def _letters(word: str) -> int:
    """Returns the size of a run of ASCII letters."""
    if word[-1].isupper():
        return CAPITALS + CAPITAL * len(word)
    if len(word) > LONGEST:
        return UNUSUAL * len(word)
    marked = f"^{word.lower()}$"
    return WORD + UNUSUAL * sum(marked[at : at + 3] not in COMMON for at in range(len(marked) - 2))


@lru_cache(maxsize=1 << 14)
def _foreign(char: str) -> int:
    """Returns the size of a character above ASCII; ASCII characters are counted elsewhere."""
    place = bisect_right(_STARTS, ord(char))
    return _RANGES[place - 1][1] if place else 0
