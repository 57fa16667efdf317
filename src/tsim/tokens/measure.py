"""Measures: how long texts are, for budgets."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from operator import index

from tsim.errors import InputError
from tsim.tokens.scripts import UNIT, size
from tsim.tokens.wordcount import words_within

# Counts the tokens of a text.
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A length of texts that budgets are compared with.

    Sizes are whole numbers of some unit that is at most a token, so that the sizes of lines add up
    without being rounded line by line.

    Attributes:
        name: What users select it by.
        size: Returns the size of a text. The size of a text is about the sum of its lines' sizes.
        room: Returns the largest size that is within a number of tokens.
    """

    name: str
    size: Callable[[str], int]
    room: Callable[[int], int]

    def tokens(self, text: str) -> int:
        """Returns the smallest budget that the text is within."""
        wanted = self.size(text)
        return bisect_left(range(2 * wanted + 1), True, key=lambda n: self.room(n) >= wanted)


ESTIMATE = Measure(name="estimate", size=size, room=lambda budget: UNIT * budget)
WORDS = Measure(name="words", size=lambda text: len(text.split()), room=words_within)


def counted(name: str, count: Count) -> Measure:
    """Returns the measure of a function that counts tokens."""

    def checked(text: str) -> int:
        found = count(text)
        try:
            tokens = index(found)
        except TypeError:
            tokens = -1
        if tokens < 0:
            raise InputError(
                f"tokens={name} returned {found!r:.80} for a text of {len(text)} characters; it "
                "must return the number of tokens, a whole number"
            )
        return tokens

    return Measure(name=name, size=checked, room=lambda budget: budget)
