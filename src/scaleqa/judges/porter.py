"""Porter's stemmer (Porter, 1980), with the changes that NLTK made to it.

LoCoMo's figures were computed with NLTK's, so its words are compared by the same stems.
"""

import re
from collections.abc import Callable, Sequence

Condition = Callable[[str], bool]
# A suffix, what replaces it, and what must hold for the stem before it.
Rule = tuple[str, str, Condition | None]
IRREGULAR = {
    **dict.fromkeys(("sky", "skies"), "sky"),
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    **dict.fromkeys(("innings", "inning"), "inning"),
    **dict.fromkeys(("outings", "outing"), "outing"),
    **dict.fromkeys(("cannings", "canning"), "canning"),
    **dict.fromkeys(("howe", "proceed", "exceed", "succeed"), ""),
}
VOWELS = "aeiou"


def stem(word: str) -> str:
    """Returns the stem of a word in lower case."""
    if word in IRREGULAR:
        return IRREGULAR[word] or word
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _second, _third, _fourth, _final_e, _double_l):
        word = step(word)
    return word


def _is_vowel(word: str, place: int) -> bool:
    if word[place] in VOWELS:
        return True
    return word[place] == "y" and place > 0 and not _is_vowel(word, place - 1)


def _measure(word: str) -> int:
    """The number of times that consonants follow vowels."""
    shape = "".join("v" if _is_vowel(word, place) else "c" for place in range(len(word)))
    return len(re.findall("vc", shape))


def _positive(word: str) -> bool:
    return _measure(word) > 0


def _above_one(word: str) -> bool:
    return _measure(word) > 1


def _has_vowel(word: str) -> bool:
    return any(_is_vowel(word, place) for place in range(len(word)))


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and not _is_vowel(word, len(word) - 1)


def _ends_cvc(word: str) -> bool:
    if len(word) == 2:
        return _is_vowel(word, 0) and not _is_vowel(word, 1)
    if len(word) < 3:
        return False
    shape = [_is_vowel(word, len(word) - back) for back in (3, 2, 1)]
    return shape == [False, True, False] and word[-1] not in "wxy"


def _apply(word: str, rules: Sequence[Rule]) -> str:
    """Applies the first rule whose suffix fits, if its condition holds."""
    for suffix, other, condition in rules:
        if word.endswith(suffix):
            before = word.removesuffix(suffix)
            return before + other if condition is None or condition(before) else word
    return word


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    return _apply(word, (("sses", "ss", None), ("ies", "i", None), ("ss", "ss", None),
                         ("s", "", None)))  # fmt: skip


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word.removesuffix("ied") + ("ie" if len(word) == 4 else "i")
    if word.endswith("eed"):
        return word[:-1] if _positive(word.removesuffix("eed")) else word
    for suffix in ("ed", "ing"):
        before = word.removesuffix(suffix)
        if before != word and _has_vowel(before):
            return _repaired(before)
    return word


def _repaired(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _ends_double(word):
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_cvc(word) else word


def _final_y(word: str) -> str:
    before = word.removesuffix("y")
    consonant = len(before) > 1 and not _is_vowel(before, len(before) - 1)
    return before + "i" if before != word and consonant else word


def _second(word: str) -> str:
    if word.endswith("alli") and _positive(word.removesuffix("alli")):
        return _second(word.removesuffix("alli") + "al")
    if word.endswith("logi"):
        return word[:-1] if _positive(word[:-3]) else word
    return _apply(word, SECOND)


def _third(word: str) -> str:
    return _apply(word, THIRD)


def _fourth(word: str) -> str:
    return _apply(word, FOURTH)


def _final_e(word: str) -> str:
    before = word.removesuffix("e")
    drop = _measure(before) > 1 or (_measure(before) == 1 and not _ends_cvc(before))
    return before if before != word and drop else word


def _double_l(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _rules(pairs: str, condition: Condition) -> tuple[Rule, ...]:
    found = (pair.partition(":") for pair in pairs.split())
    return tuple((suffix, other, condition) for suffix, _, other in found)


SECOND = _rules(
    "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e "
    "ousli:ous ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous "
    "aliti:al iviti:ive biliti:ble fulli:ful",
    _positive,
)
THIRD = _rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:", _positive)
FOURTH = (
    *_rules("al: ance: ence: er: ic: able: ible: ant: ement: ment: ent:", _above_one),
    ("ion", "", lambda before: _above_one(before) and before[-1] in "st"),
    *_rules("ou: ism: ate: iti: ous: ive: ize:", _above_one),
)
