"""Sentences: what a turn says besides its main matter is often one of them.

The vector of a turn shows what most of it is about. A fact that is mentioned in passing is one
sentence, and so is a detail in a long answer.
"""

import re

from tsim.words import count

# A text with fewer words is its own sentence: its vector shows all that it says.
SHORT_WORDS = 20
# A sentence with fewer words belongs to the one after it ("Right. Tomorrow then.").
LEAST_WORDS = 3

END = re.compile(r"(?:(?<=[.!?…;])|(?<=[.!?…][\"'”’)\]]))\s+|[。！？]+|\n+")


def sentences(text: str) -> tuple[int, ...]:
    """Returns the characters at which the sentences of a text begin; none if it has only one."""
    if count(text) < SHORT_WORDS:
        return ()
    starts, start = [0], 0
    for found in END.finditer(text):
        if count(text[start : found.end()]) >= LEAST_WORDS:
            start = found.end()
            starts.append(start)
    if count(text[start:]) < LEAST_WORDS:  # what is left belongs to the last one
        starts.pop()
    return tuple(starts) if len(starts) > 1 else ()
