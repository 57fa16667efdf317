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
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tsim.index.taking import Places, renumbered, taken
from tsim.stopwords import STOP
from tsim.types import MODEL_ROLES, USER_ROLE
from tsim.vectors import Vector
from tsim.words import LONGEST_WORD

# Letters with the vowel signs of Hindi, which `\\w` does not match.
DEVANAGARI = "\u0900-\u0963\u0966-\u097f"
# First-person pronouns, possessives, and forms of verbs where a language leaves out the pronoun; in
# Japanese also plain words for one's own family. For other languages all speakers look the same.
# Words that mean something else in English, such as "he", "ben" and "ai", are left out.
FIRST_PERSON = re.compile(
    rf"""\b(?:
        i | i['’](?:m|ve|d|ll) | me | my | mine | myself
        | we | we['’](?:re|ve|d|ll) | us | our | ours
        | ich | mir | mich | mein(?:e[mnrs]?)? | wir | uns | unser(?:e[mnrs]?)?
        | je | j['’]\w+ | moi | mon | mes | nous | notre
        | yo | mi | mis | nosotr[oa]s | nuestr[oa]s?
        | eu | meus? | minhas? | noss[oa]s?
        | mio | mia | miei | nostr[oaie]
        | ik | mij | mijn | wij | onze
        | я | мне | меня | мо[йяёеию] | моего | мы | нам | наш[аеи]?
    )\b | [我俺私僕] | 나는 | 내가 | 저는 | 제가
    | \b(?:
        estoy | tengo | tenía | tuve | tenemos | vivo | vivimos | trabajo | hice | fui | fuimos
        | voy | hemos | estamos | somos | conmigo
        | sou | estou | tenho | tinha | tive | temos | moro | moramos | trabalho | fiz | vou
        | comigo
        | мной | моей | моему | моём | моим | моими | моих | мою | нас | нами | нашего | нашей
        | нашем | нашу | наших | нашим
        | benim | bana | beni | bende | benden | bizim | bize | bizi
        | أنا | نحن | عندي | عندنا | لدي | لدينا | لي | لنا | معي | كنت | كنا | إنني | أنني | لأنني
        | لكنني | إني | لأني | سأ\w+ | (?!ال)\w\w+(?:تي|ني)
        | tôi | mình | chúng
    )\b
    | (?<![{DEVANAGARI}])(?:
        मैं | मैंने | मुझे | मुझको | मुझसे | मेरा | मेरी | मेरे | हम | हमने | हमें | हमारा | हमारी | हमारे | हूँ | हूं
        | [{DEVANAGARI}]+(?:ूँगा|ूँगी|ऊँगा|ऊँगी|ूंगा|ूंगी)
    )(?![{DEVANAGARI}])
    | (?<![가-힣])(?:
        나 | 난 | 내 | 나도 | 나의 | 나를 | 나한테 | 저 | 전 | 제 | 저도 | 저의 | 저를
        | (?:우리|저희)[가-힣]?
    )(?![가-힣])
    | 咱 | 本人 | わたし | ぼく | おれ | あたし | うち[のはがに] | 自分 | 我が家 | 実家
    | (?:祖父|祖母|両親|長男|長女|次男|次女|息子|従兄|従弟|従姉|従妹|父|母|兄|姉|弟|妹|夫|妻|娘)
      (?=[はがのをにとも、])
    | ฉัน | ผม | ดิฉัน | เรา""",
    re.IGNORECASE | re.VERBOSE,
)

# Scripts in which the first person need not be a word of its own between spaces or marks.
UNDIVIDED = re.compile("[\u0900-\u097f\u0e00-\u0e7f\u3000-\u9fff\uac00-\ud7a3]")
# A word, with a French "j'" before it.
WORD = re.compile(r"\b[jJ]['’]\w+|\w+")

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
# What there must be for that: a capitalised word before a punctuation mark.
MAYBE_CALLED = re.compile(
    r"[\s,][^\W\d_a-zа-яà-ÿ][^\W\d_]+\s*(?:[,.!?…:;)–—-]|$)",
    re.MULTILINE,
)
# Characters at the beginning of a turn in which a greeting is looked for.
OPENING = 120
# Characters of the shortest name: `Q` and `A` are not names.
SHORTEST_NAME = 2
# How often a speaker must be called by a name, and the least share of it by the other speaker.
CALLS, BY_OTHER = 2, 0.8
# Share of a thread's turns from which a speaker takes part in it.
TAKES_PART = 0.05


def first_person(text: str) -> int:
    """Returns how many words of a text are in the first person."""
    if UNDIVIDED.search(text):
        return sum(1 for _ in FIRST_PERSON.finditer(text))
    words = WORD.findall(text)
    if max(map(len, words), default=0) > LONGEST_WORD:  # not remembered: it may be huge
        return sum(map(_is_first_person, words))
    return sum(map(_remembered, words))


def _names_called(text: str) -> set[str]:
    """Returns the names in greetings at the beginning of a turn, casefolded."""
    opening = text[:OPENING]
    if not MAYBE_CALLED.search(opening):
        return set()
    return {found["name"].casefold() for found in CALLED.finditer(opening)}


def _is_first_person(word: str) -> bool:
    return FIRST_PERSON.fullmatch(word) is not None


_remembered = lru_cache(maxsize=1 << 16)(_is_first_person)


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
        for name in _names_called(passages[0]):
            self._calls.setdefault(name, Counter())[number] += 1

    def kept(
        self, places: Places, begins: npt.NDArray[np.bool_], forgotten: Iterable[tuple[str, str]]
    ) -> "Speakers":
        """Returns the speakers of some passages alone, as if there had never been others.

        Args:
            places: The passages; those of a turn are there together.
            begins: Which of them begin a turn.
            forgotten: The roles of the other turns, and their first passages.
        """
        out = Speakers()
        roles = [*self._numbers]
        former, out._speakers = renumbered(self.numbers[places])
        out._numbers = {roles[number]: place for place, number in enumerate(former)}
        out._first_person = taken(self._first_person, places)
        said = out.numbers[begins]
        told = np.bincount(np.cumsum(begins) - 1, weights=np.array(out._first_person)) > 0
        out._said = np.bincount(said, minlength=len(former)).tolist()
        out._told = np.bincount(said[told], minlength=len(former)).tolist()
        fewer: dict[str, Counter[int]] = {}
        for role, text in forgotten:
            for name in _names_called(text):
                fewer.setdefault(name, Counter())[self._numbers[role]] += 1
        for name, calls in self._calls.items():
            left = calls - fewer.get(name, Counter())
            if left:
                out._calls[name] = Counter({former.index(by): n for by, n in left.items()})
        return out

    @property
    def numbers(self) -> npt.NDArray[np.uint32]:
        """The speaker of each passage, counted from 0."""
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
                    if len(part) < SHORTEST_NAME or part in STOP:
                        continue
                    if out.setdefault(part, number) != number:
                        shared.add(part)
        return {name: number for name, number in out.items() if name not in shared}

    def called(self) -> Mapping[str, int]:
        """Returns the names, casefolded, by which one of two speakers greets the other."""
        least = TAKES_PART * sum(self._said)
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
    def first_person(self) -> npt.NDArray[np.uint32]:
        """The number of first-person words in each passage."""
        return np.array(self._first_person, dtype=np.uint32)  # a view would keep it from growing

    @property
    def tells(self) -> Vector:
        """For each passage, the logarithm of the share of its speaker's first-person turns."""
        told, said = np.array(self._told, dtype=np.float32), np.array(self._said, dtype=np.float32)
        if not told.any():  # nobody does, or in words that are not known: speakers are alike
            return np.full(len(self._speakers), np.log(np.float32(0.5)), dtype=np.float32)
        rates = np.log((told + 1) / (said + 2))
        out: Vector = rates[self.numbers]
        return out
