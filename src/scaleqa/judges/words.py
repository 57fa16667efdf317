"""Texts as words to compare, in the manner of SQuAD's evaluation (Rajpurkar et al., 2016).

Case, articles, punctuation and symbols are dropped. Unlike there, numbers keep their sign and their
decimals, thousands are not separated, and small numbers may be spelled out.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

ARTICLES = frozenset(("a", "an", "the"))
SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()
TENS = "thirty forty fifty sixty seventy eighty ninety".split()
SPELLED = {
    **{word: str(number) for number, word in enumerate(SMALL)},
    **{word: str(10 * tens) for tens, word in enumerate(TENS, 3)},
}
NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
APOSTROPHES = re.compile("['\u2019\u02bc]")


def words_of(text: str) -> list[str]:
    """Returns the words of a text: the same for texts that differ only in how they are written."""
    once = unicodedata.normalize("NFKC", text).casefold().replace("\u2212", "-")
    plain = THOUSANDS.sub("", APOSTROPHES.sub("", unicodedata.normalize("NFKC", once)))
    around = f" {plain} "
    kept = "".join(map(_kept, plain, around, around[2:])).split()
    return [_number(SPELLED.get(word, word)) for word in kept if word not in ARTICLES]


def overlap(said: Sequence[str], gold: Sequence[str]) -> float:
    """Returns the token F1 of two texts: the harmonic mean of precision and recall of words.

    Two texts without any word agree in nothing.
    """
    common = sum((Counter(said) & Counter(gold)).values())
    return 2 * common / (len(said) + len(gold)) if common else 0.0


def _kept(sign: str, before: str, after: str) -> str:
    """Returns a sign, or a space for punctuation and symbols that belong to no number."""
    if sign == "." and before.isdecimal() and after.isdecimal():
        return sign
    if sign == "-" and after.isdecimal() and not _in_word(before):
        return sign
    return sign if _in_word(sign) else " "


def _in_word(sign: str) -> bool:
    return unicodedata.category(sign)[0] not in "PSZC"


def _number(word: str) -> str:
    """Writes a number in one way: `7.50` as `7.5`, `007` as `7`."""
    found = NUMBER.fullmatch(word)
    if not found:
        return word
    sign, whole, decimals = found.groups(default="")
    decimals = decimals.rstrip("0")
    number = (whole.lstrip("0") or "0") + (f".{decimals}" if decimals else "")
    return number if number == "0" else sign + number
