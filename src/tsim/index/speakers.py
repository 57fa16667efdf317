"""Speakers: which of them talk about themselves, and what they are called.

People state facts about their lives in the first person, in any kind of conversation; assistants
rarely do. How often a speaker does so tells where such facts are, without knowing what a role's
name means: in a chat between two friends both do, in a chat with an assistant mostly the user.

A speaker is called by the role, if that is a name, and by what the other one says in greetings
("Hi Nadia!"). Questions that name a speaker are about what this speaker said.
"""

import re
from array import array
from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tsim.types import MODEL_ROLES, USER_ROLE
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

# Roles that are not names.
PARTS = MODEL_ROLES | {USER_ROLE, "human", "ai", "bot", "system", "developer", "tool", "function"}
# A name after a greeting or thanks, in some languages, and before a punctuation mark.
CALLED = re.compile(
    r"""\b(?:
        hey | hi | hello | thanks | thank[ ]you | dear | bye | morning | evening | night | sorry
        | congrats | congratulations | welcome(?:[ ]back)? | hallo | liebe[r]? | danke | guten[ ]tag
        | salut | bonjour | cher | ch[eè]re | merci | hola | gracias | querid[oa] | ciao | grazie
        | car[oa] | oi | ol[aá] | obrigad[oa] | hoi | bedankt | привет | спасибо | здравствуй
    )[\s,]+(?=[^\W\d_])(?-i:(?P<name>[^\W_a-zа-яà-ÿ][^\W\d_]+))(?=\s*(?:[,.!?…:;)–—-]|$))""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
# Characters at the beginning of a turn in which a greeting is looked for.
OPENING = 120
# How often a speaker must be called by a name, and the least share of it by the other speaker.
CALLS, BY_OTHER = 2, 0.8
# Share of a thread's turns from which a speaker takes part in it.
TAKES_PART = 0.05


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
        self._calls: dict[str, Counter[int]] = {}  # names, and how often each speaker says them

    def append(self, role: str, text: str) -> None:
        """Adds a turn."""
        number = self._numbers.setdefault(role, len(self._said))
        if number == len(self._said):
            self._said.append(0)
            self._told.append(0)
        count = first_person(text)
        self._speakers.append(number)
        self._first_person.append(count)
        self._said[number] += 1
        self._told[number] += count > 0
        for name in {found["name"].casefold() for found in CALLED.finditer(text[:OPENING])}:
            self._calls.setdefault(name, Counter())[number] += 1

    @property
    def numbers(self) -> npt.NDArray[np.uint32]:
        """The speaker of each turn, counted from 0."""
        return np.frombuffer(self._speakers, dtype=np.uint32)

    @property
    def model(self) -> int | None:
        """The assistant, if there is exactly one and somebody talks to it."""
        found = [number for role, number in self._numbers.items() if role in MODEL_ROLES]
        return found[0] if len(found) == 1 < len(self._said) else None

    def names(self) -> Mapping[str, int]:
        """Returns the speakers' names, casefolded, if there are several whose roles are names."""
        if len(self._said) < 2:
            return {}
        out: dict[str, int] = {}
        shared: set[str] = set()
        for role, number in self._numbers.items():
            if role.casefold() not in PARTS:
                for part in {role.casefold(), role.casefold().split()[0]}:
                    if out.setdefault(part, number) != number:
                        shared.add(part)
        return {name: number for name, number in out.items() if name not in shared}

    def called(self) -> Mapping[str, int]:
        """Returns the names, casefolded, by which one of two speakers greets the other."""
        least = TAKES_PART * len(self._speakers)
        both = [number for number, said in enumerate(self._said) if said >= least]
        if len(both) != 2:
            return {}
        out: dict[str, int] = {}
        for name, calls in self._calls.items():
            by, count = max(calls.items(), key=lambda call: (call[1], -call[0]))
            if by in both and count >= max(CALLS, BY_OTHER * calls.total()):
                out[name] = both[1 - both.index(by)]
        return out

    @property
    def first_person(self) -> Vector:
        """The logarithm of one plus the number of first-person words in each turn."""
        return np.log1p(np.frombuffer(self._first_person, dtype=np.uint32).astype(np.float32))

    @property
    def tells(self) -> Vector:
        """For each turn, the logarithm of the share of its speaker's turns in the first person."""
        told, said = np.array(self._told, dtype=np.float32), np.array(self._said, dtype=np.float32)
        rates = np.log((told + 1) / (said + 2))
        out: Vector = rates[self.numbers]
        return out
