"""Speakers: which of them talk about themselves.

People state facts about their lives in the first person, in any kind of conversation; assistants
rarely do. How often a speaker does so tells where such facts are, without knowing what a role's
name means: in a chat between two friends both do, in a chat with an assistant mostly the user.
"""

import re
from array import array

import numpy as np

from tsim.vectors import Vector

# First-person pronouns and possessives of some languages; for others all speakers look the same.
FIRST_PERSON = re.compile(
    r"""\b(?:
        i | i['’](?:m|ve|d|ll) | me | my | mine | myself
        | we | we['’](?:re|ve|d|ll) | us | our | ours
        | ich | mir | mich | mein(?:e[mnrs]?)? | wir | uns | unser(?:e[mnrs]?)?
        | je | j['’]\w+ | moi | mon | mes | nous | notre
        | yo | mi | mis | nosotr[oa]s | nuestr[oa]s?
        | eu | meus? | minhas? | noss[oa]s?
        | mio | mia | miei | nostr[oaie]
        | ik | mij | mijn | wij | onze
        | я | мне | меня | мо[йяёеию] | моего | мы | нам | наш[аеи]?
    )\b | [我俺私僕] | 나는 | 내가 | 저는 | 제가""",
    re.IGNORECASE | re.VERBOSE,
)


def first_person(text: str) -> int:
    """Returns how many words of a text are in the first person."""
    return sum(1 for _ in FIRST_PERSON.finditer(text))


class Speakers:
    """The speakers of a growing thread."""

    def __init__(self) -> None:
        """Starts without turns."""
        self._numbers: dict[str, int] = {}
        self._speakers = array("I")
        self._first_person = array("I")
        self._said: list[int] = []  # turns of each speaker
        self._told: list[int] = []  # those of them with words in the first person

    def append(self, role: str, *passages: str) -> None:
        """Adds a turn, given by its passages; a short turn is one passage."""
        number = self._numbers.setdefault(role, len(self._said))
        if number == len(self._said):
            self._said.append(0)
            self._told.append(0)
        counts = [first_person(text) for text in passages]
        self._speakers.extend([number] * len(counts))
        self._first_person.extend(counts)
        self._said[number] += 1
        self._told[number] += any(counts)

    @property
    def first_person(self) -> Vector:
        """The logarithm of one plus the number of first-person words in each passage."""
        return np.log1p(np.frombuffer(self._first_person, dtype=np.uint32).astype(np.float32))

    @property
    def tells(self) -> Vector:
        """For each passage, the logarithm of the share of its speaker's first-person turns."""
        told, said = np.array(self._told, dtype=np.float32), np.array(self._said, dtype=np.float32)
        rates = np.log((told + 1) / (said + 2))
        out: Vector = rates[np.frombuffer(self._speakers, dtype=np.uint32)]
        return out
