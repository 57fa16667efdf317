"""Words, n-grams, names and codes, for the checks of records."""

import re
from collections.abc import Iterable

WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9'’-]*")
CODE = re.compile(r"(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9-]{4,}")
# Numbers with a unit or an ordinal ending are amounts, not names.
AMOUNT = re.compile(
    r"\d+([.-]\d+)*-?(st|nd|rd|th|am|pm|k|m|x|h|hr|hrs|min|mins|gb|mb|tb|kg|g|mg|mm|cm|ml|l|v|w|kw|"
    r"kwh|c|f|km|ft|hz|khz|mhz|ghz|bar|psi|s|day|days|week|weeks|month|months|year|years|hour|"
    r"minute|page|metre|meter|litre|euro|percent|person|seat|volt|watt|turn|point|man|inch)?"
)
# Always written with a capital, and seldom with a small one, but no names.
CONTRACTIONS = frozenset(f"i{mark}{end}" for mark in "'’" for end in ("d", "ll", "m", "ve"))
SENTENCE = re.compile(r"(?<=[.!?:;\n])\s+|[\"“”()\[\]]|\s[–—-]\s")


def words(text: str) -> list[str]:
    """Returns the words of a text in lower case."""
    return [word.lower() for word in WORD.findall(text)]


def ngrams(text: str, size: int) -> set[str]:
    """Returns all runs of `size` consecutive words."""
    found = words(text)
    return {" ".join(found[i : i + size]) for i in range(len(found) - size + 1)}


def share(of: str, within: Iterable[str]) -> float:
    """Returns the share of a text's words of three or more letters that are in `within`."""
    pool = set(within)
    content = [word for word in words(of) if len(word) > 2]
    return sum(word in pool for word in content) / len(content) if content else 0.0


def names(text: str, common: frozenset[str]) -> set[str]:
    """Returns capitalised words that are not common words, and codes of letters and digits."""
    found = set()
    for sentence in SENTENCE.split(text):
        for place, word in enumerate(WORD.findall(sentence)):
            low = re.sub(r"['’]s$", "", word).lower()
            if low in CONTRACTIONS:
                continue
            if CODE.fullmatch(low):
                if not AMOUNT.fullmatch(low):
                    found.add(low)
            elif place and word[0].isupper() and not word.isupper() and low not in common:
                found.add(low)
    return found


# Capitalised words that are not names.
CALENDAR = frozenset(
    f"{day}{ending}"
    for day in (
        "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs "
        "fri sat sun january february march april may june july august september october november "
        "december jan feb mar apr jun jul aug sep sept oct nov dec christmas easter"
    ).split()
    for ending in ("", "s")
)
TITLES = frozenset("mr mrs ms dr grandma grandpa grandad granny nan nana auntie".split())
LANGUAGES = frozenset(
    "english german french spanish italian latin dutch greek polish portuguese swedish danish "
    "finnish norwegian czech hungarian turkish russian chinese japanese korean arabic".split()
)


def common_words(texts: Iterable[str], least: int = 3) -> frozenset[str]:
    """Returns the words that at least `least` of the texts also write in lower case."""
    counts: dict[str, int] = {}
    for text in texts:
        lowered = {w for w in WORD.findall(text) if w[0].islower()}
        for word in lowered:
            key = word.lower()
            counts[key] = counts.get(key, 0) + 1
    return (
        CALENDAR | TITLES | LANGUAGES | {word for word, count in counts.items() if count >= least}
    )
