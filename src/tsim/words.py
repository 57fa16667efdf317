"""Words of a text, in any script, without a dictionary.

Scripts that put spaces between words are divided at spaces and punctuation. Scripts that do not are
divided into overlapping sequences of characters, which find a word wherever it begins: pairs for
Chinese and Japanese (and single Chinese characters), triples for Thai, Lao, Burmese and Khmer.
Korean has spaces, but attaches particles to words, so it gets words and pairs. English words are
what they have always been, since the weights of the default method were fitted with them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from tsim.stopwords import ENGLISH_ALONE, STOP

# Characters that belong to words although `\w` does not match them: accents and vowel signs.
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0df3"
    "\u0e00-\u0ecf\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u200c\u200d\u00ad"
)
TERM = re.compile(rf"[\w{MARKS}]+(?:['’-][\w{MARKS}]+)*")

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
KANA = "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HANGUL = "\uac00-\ud7a3"
# Thai, Lao, Burmese, Khmer.
SOUTHEAST = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
DENSE = re.compile(f"[{HAN}{KANA}{HANGUL}{SOUTHEAST}]")
RUN = re.compile(
    f"(?P<chinese>[{HAN}{KANA}]+)|(?P<korean>[{HANGUL}]+)|(?P<southeast>[{SOUTHEAST}]+)"
    f"|[^{HAN}{KANA}{HANGUL}{SOUTHEAST}]+"
)
EAST = re.compile(f"[{HAN}{KANA}]")
SOUTH = re.compile(f"[{SOUTHEAST}]")
# Characters per word of these scripts.
EAST_CHARACTERS, SOUTHEAST_CHARACTERS = 1.7, 4.5
# Longer words are no words, but encoded files and the like: characters that count as one.
LONGEST_WORD, ENDLESS_CHARACTERS = 200, 6
# Words per term of these scripts; terms of other scripts are words.
SHARE: dict[str | None, float] = {"chinese": 0.25, "korean": 0.4, "southeast": 0.22, None: 1.0}

# Forms that differ only in how they are drawn: full and half width, ligatures, bold letters, joined
# Arabic letters. Superscripts and fractions are left alone, because "m²" is not "m2".
COMPATIBLE = re.compile(
    "[\u3131-\u318e\uf900-\ufaff\ufb00-\ufdff\ufe70-\uffef\U0001d400-\U0001d7ff]+"
)
FOLDED = {
    **dict.fromkeys(
        [
            0xAD,
            0x200C,
            0x200D,
            0x0307,
            0x0640,
            0x0670,
            *range(0x0591, 0x05BE),
            *range(0x064B, 0x0653),
        ]
    ),
    **str.maketrans("ıёأإآٱىیکة", "iеااااييكه"),
    **{zero + n: str(n) for zero in (0x0660, 0x06F0, 0x0966) for n in range(10)},
}


def terms(text: str) -> list[str]:
    """Returns the terms of a text: case folded, without stop words, plurals and possessives cut."""
    return list(_cleaned(_written(text)))


def distinct(text: str) -> set[str]:
    """Returns the terms of a text without repetitions; faster for long texts."""
    return {*_cleaned({*_written(text)})}


def _written(text: str) -> list[str]:
    words: list[str] = TERM.findall(folded(text).replace("’", "'"))
    return words


def count(text: str) -> int:
    """Returns the number of words of a text; for scripts without spaces an estimate."""
    if text.isascii():
        return _spaced(text)
    spaced, east = EAST.subn(" ", text)
    spaced, southeast = SOUTH.subn(" ", spaced)
    return _spaced(spaced) + round(east / EAST_CHARACTERS + southeast / SOUTHEAST_CHARACTERS)


def _spaced(text: str) -> int:
    words = text.split()
    endless = sum(len(word) for word in words if len(word) > LONGEST_WORD)
    return len(words) + endless // ENDLESS_CHARACTERS


def extent(found: Iterable[str]) -> float:
    """Returns how many words some terms stand for; sequences of characters overlap."""
    return sum(
        SHARE[script.lastgroup] if not term.isascii() and (script := RUN.match(term)) else 1.0
        for term in found
    )


def english(text: str) -> bool:
    """Returns whether a text has a word that is common in English and not in other languages."""
    return not ENGLISH_ALONE.isdisjoint(_written(text))


def phrased(text: str) -> bool:
    """Returns whether a text has a small word of a language, as what people ask mostly has.

    Nothing is known of this in scripts without spaces, where it is taken to be so.
    """
    return bool(DENSE.search(text)) or not STOP.isdisjoint(_written(text))


def folded(text: str) -> str:
    """Returns a text in which characters that readers take for the same are the same."""
    if text.isascii():
        return text.lower()
    composed = unicodedata.normalize("NFC", text)
    plain = COMPATIBLE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), composed)
    return plain.casefold().translate(FOLDED)


def _cleaned(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if not word.isascii() and DENSE.search(word):
            yield from _sequences(word)
        elif cleaned := _cut(word):
            yield cleaned


def _cut(word: str) -> str:
    """Removes a possessive and a plural ending; nothing remains of a stop word."""
    cut = word.removesuffix("'s")
    if cut in STOP:
        return ""
    return cut[:-1] if len(cut) > 3 and cut.endswith("s") and not cut.endswith("ss") else cut


def _sequences(word: str) -> Iterator[str]:
    """Yields the terms of a word with characters of scripts that are not divided at spaces."""
    for found in RUN.finditer(word):
        run, script = found[0], found.lastgroup
        if script == "chinese":
            yield from _grams(run, 2)
            yield from (c for c in run if len(run) > 1 and re.match(f"[{HAN}]", c))
        elif script == "korean":
            if run not in STOP:
                yield run
                if len(run) > 2:
                    yield from _grams(run, 2)
        elif script == "southeast":
            yield from _grams(run, 3)
        elif cleaned := _cut(run.strip("'-")):
            yield cleaned


def _grams(run: str, size: int) -> Iterator[str]:
    """Yields all sequences of `size` characters; a shorter run is one sequence."""
    return (run[place : place + size] for place in range(max(1, len(run) - size + 1)))
