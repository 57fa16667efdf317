"""Content words, compared by stem, for the checks of second wordings, asides and talk."""

import re

WORD = re.compile(r"[A-Za-z0-9]+(?:['’][A-Za-z]+)?")
CLITIC = re.compile(r"'(s|d|ll|ve|re|t|m)$")
# The first that fits is removed; what is left has at least three letters.
SUFFIXES = ("ingly", "edly", "ings", "ing", "ied", "ies", "ers", "ed", "es", "s", "ly", "er")
NUMBERS = frozenset(
    "three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred "
    "thousand".split()
)
# Words that say nothing about a topic: function words, and verbs and nouns that go with anything.
STOP = frozenset(
    "a about above after again against all also although always am an and another any anyone "
    "anything are aren't around as ask asked asks at back be because been before being below best "
    "better between big bit both but by came can can't come comes could couldn't day days did "
    "didn't do does doesn't doing don't done dont down during each either else end even ever every "
    "everyone everything few first for from further gave get gets getting give given gives go goes "
    "going gone good got had happen happened happens has have having he he's help her here hers "
    "him his how i i'd i'll i'm i've if in into is isn't it it's its itself just keep keeps kept "
    "kind knew know knows last later let let's lets like liked likes little ll long look looked "
    "looks lot lots made make makes making many may me mean means meant might mine more most much "
    "must my myself need needed needs neither never new next no nor not nothing now of off ok okay "
    "old on once one only or other our ours out over own part per please put puts quite rather re "
    "really right said same saw say says second see seen sees set shall she she's should shouldn't "
    "since sit sits so some someone something soon sort start still such sure take taken takes "
    "tell tells than thank thanks that that's the their theirs them then there there's these they "
    "they're thing things think thinks this those though thought through till time times to told "
    "too took tried try trying turn turned turns two under unless until up us use used uses using "
    "ve very via want wanted wants was wasn't way ways we we're we've well went were weren't what "
    "what's when where whether which while who whole whom why will with within without won't work "
    "working works would wouldn't yes yet you you're you've your yours yourself".split()
)


def plain(word: str) -> str:
    """Returns a word in lower case without a clitic: `Orrin's` gives `orrin`."""
    return CLITIC.sub("", word.lower().replace("’", "'"))


def stem(word: str) -> str:
    """Returns a word without its inflection, roughly: `stories` and `story` give the same."""
    word = plain(word)
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word.removesuffix(suffix) + ("y" if suffix in ("ied", "ies") else "")
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def content(text: str) -> dict[str, str]:
    """Returns the content words of a text by stem, as they are written."""
    return {
        stem(word): word
        for word in WORD.findall(text)
        if word.lower().replace("’", "'") not in STOP and (len(word) > 1 or word.isdigit())
    }


def is_number(word: str) -> bool:
    """Returns whether a word is a number, in digits or spelled out."""
    return word.lower() in NUMBERS or any(char.isdigit() for char in word)
