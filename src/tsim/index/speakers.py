"""Speakers: which of them talk about themselves.

People state facts about their lives in the first person, in any kind of conversation; assistants
rarely do. How often a speaker does so tells where such facts are, without knowing what a role's
name means: in a chat between two friends both do, in a chat with an assistant mostly the user.
"""

import re
from array import array

import numpy as np

from tsim.vectors import Vector

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

    @property
    def first_person(self) -> Vector:
        """The logarithm of one plus the number of first-person words in each turn."""
        return np.log1p(np.frombuffer(self._first_person, dtype=np.uint32).astype(np.float32))

    @property
    def tells(self) -> Vector:
        """For each turn, the logarithm of the share of its speaker's turns in the first person."""
        told, said = np.array(self._told, dtype=np.float32), np.array(self._said, dtype=np.float32)
        if not told.any():  # nobody does, or in words that are not known: speakers are alike
            return np.full(len(self._speakers), np.log(np.float32(0.5)), dtype=np.float32)
        rates = np.log((told + 1) / (said + 2))
        out: Vector = rates[np.frombuffer(self._speakers, dtype=np.uint32)]
        return out
