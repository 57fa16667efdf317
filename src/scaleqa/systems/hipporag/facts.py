"""Facts of a passage: the phrases it mentions and the triples it states."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from scaleqa.packages import StreamTurn

Triple: TypeAlias = tuple[str, str, str]

WORD = re.compile(r"\w+(?:[.,:/&'’-]\w+)*")
# Pronouns, determiners and the like; a phrase never starts with them.
POINTING = frozenset(
    "a an the this that these those i me my mine myself you your yours yourself he him his himself "
    "she her hers herself it its itself we us our ours ourselves they them their theirs themselves "
    "some any every each all both another no what which who whom whose someone something anyone "
    "anything everyone everything nobody nothing there here one ones".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts of a passage.

    Attributes:
        mentions: The number of occurrences of each phrase, in order of first appearance. It
            includes the subjects and objects of all triples.
        triples: Subject, relation, object; repeated as often as stated.
    """

    mentions: Mapping[str, int]
    triples: tuple[Triple, ...]


class Reader(Protocol):
    """Extracts facts from passages, and phrases from questions.

    Attributes:
        calls: Number of language model calls so far.
        malformed: Number of its replies that could not be used.
    """

    calls: int
    malformed: int

    def read(self, passages: Sequence[Sequence[StreamTurn]]) -> list[Facts]:
        """Extracts the facts of passages, each a run of turns."""
        ...

    def ask(self, question: str) -> tuple[str, ...]:
        """Returns the phrases of a question."""
        ...


def phrase(text: str) -> str:
    """Normalises a phrase: lower case, no determiner, possessive or punctuation.

    A phrase that consists of pronouns (`they`, `this one`) gives an empty string.
    """
    words = [word.replace("’", "'").removesuffix("'s") for word in WORD.findall(text.lower())]
    while words and words[0] in POINTING:
        del words[0]
    return " ".join(words)
