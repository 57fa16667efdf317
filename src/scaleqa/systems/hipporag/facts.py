"""What is read from a passage: the phrases it mentions and the triples it states."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from scaleqa.packages import StreamTurn

Triple: TypeAlias = tuple[str, str, str]

WORD = re.compile(r"\w+(?:[.,:/&'’-]\w+)*")
# Words that point or count but name nothing; a phrase never starts with them.
POINTING = frozenset(
    "a an the this that these those i me my mine myself you your yours yourself he him his himself "
    "she her hers herself it its itself we us our ours ourselves they them their theirs themselves "
    "some any every each all both another no what which who whom whose someone something anyone "
    "anything everyone everything nobody nothing there here one ones".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a passage says.

    Attributes:
        mentions: How often each phrase occurs, in order of first appearance. The ends of all
            triples are among them.
        triples: Subject, relation, object; as often as stated.
    """

    mentions: Mapping[str, int]
    triples: tuple[Triple, ...]


class Reader(Protocol):
    """Reads facts from passages, and phrases from questions.

    Attributes:
        calls: Calls of a language model so far.
        malformed: Answers of it that could not be used.
    """

    calls: int
    malformed: int

    def read(self, passages: Sequence[Sequence[StreamTurn]]) -> list[Facts]:
        """Reads passages, each a run of turns."""
        ...

    def ask(self, question: str) -> tuple[str, ...]:
        """Names the phrases of a question."""
        ...


def phrase(text: str) -> str:
    """Writes a phrase as its node is named: lower case, no determiner, possessive or punctuation.

    A phrase that only points (`they`, `this one`) names nothing and comes back empty.
    """
    words = [word.replace("’", "'").removesuffix("'s") for word in WORD.findall(text.lower())]
    while words and words[0] in POINTING:
        del words[0]
    return " ".join(words)
