"""Questions that name a speaker.

"Where did Nadia move to?" is about what Nadia said. She hardly says her own name; turns that
contain it are by the other speaker ("Hi Nadia!"). So her name would lead to the wrong turns, by
words and by meaning. The question is searched for as Nadia would put it ("Where did I move to?"),
and her turns are preferred. "What did you suggest?" is about what the assistant said.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

WORD = re.compile(r"[^\W\d_](?:[\w-]*\w)?(?P<own>['’]s\b|['’](?!\w))?")
# Words before which a word is not a name: "the agent".
BEFORE = re.compile(r"\b(?:the|an?|my|our|your|his|her|their)\s+$", re.IGNORECASE)
# Names that are also common words. They are names only if they are written as such.
AMBIGUOUS = frozenset(
    "will may mark bill rose grace hope joy art frank june april august summer dawn rich pat drew "
    "jack sue ray dean grant chance miles max guy faith violet ivy lily olive ruby jade iris "
    "heather robin jay penny rusty sandy rocky sonny buddy chase hunter mason carter cook baker "
    "king young long brown black white green gray stone woods rivers field price case page".split()
)
SENTENCE = re.compile(r"(?:^|[.!?:]\s+)[\s\"'“‘(]*$")
MONTH = re.compile(
    r"\b(?:in|on|of|since|until|till|by|last|next|this|early|late|mid|before|after|during)\s+$",
    re.IGNORECASE,
)
ENGLISH = re.compile(
    r"\b(?:what|when|where|which|who|whose|why|how|did|does|is|was|are|were|has|have|the|of)\b",
    re.IGNORECASE,
)
# English questions about what the assistant said.
YOU_SAID = re.compile(
    r"""\b(?:
        (?:did|have|had|were)[ ]you[ ](?!know\b|remember\b|recall\b|think\b|see\b)
        | you(?:[ ]had|[ ]have|['’]ve|['’]d)?[ ](?:just[ ]|once[ ]|also[ ])?(?:
            said|suggested|recommended|gave|given|told|mentioned|wrote|written|proposed|listed
            |came[ ]up|advised|offered|described|explained|warned|called|picked|chose|planned)
        | your[ ](?:suggestion|advice|answer|reply|recommendation|recipe|plan|list|draft|tip)s?
        | (?:suggested|recommended|proposed)[ ]by[ ]you
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# How sure it is who is meant by a name from greetings: questions may use it for someone else, and
# who answers to it is only inferred.
BY_GREETING = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """A question without the names of speakers.

    Attributes:
        text: The question as the named speaker would put it.
        speaker: Whose turns it is about, if of one speaker.
        certainty: How sure that is, from 0 to 1.
    """

    text: str
    speaker: int | None
    certainty: float


def _written_as_name(word: str, before: str) -> bool:
    """Returns whether a word has a capital that neither a sentence nor a month would give it."""
    return word[0].isupper() and not SENTENCE.search(before) and not MONTH.search(before)


def name(
    question: str,
    names: Mapping[str, int],
    called: Mapping[str, int],
    model: int | None = None,
) -> Naming:
    """Finds the speakers that a question names.

    Args:
        question: The question.
        names: The names of speakers, casefolded, and the number of the speaker of each.
        called: The same for names from greetings.
        model: The number of the assistant, if there is one.
    """
    known = {**called, **names}
    english = ENGLISH.search(question) is not None
    found: dict[int, float] = {}
    parts: list[str] = []
    done = 0
    for word in WORD.finditer(question):
        own = word["own"] or ""
        term = word[0].removesuffix(own).casefold()
        speaker = known.get(term)
        before = question[: word.start()]
        if speaker is None or BEFORE.search(before):
            continue
        if term in AMBIGUOUS and not _written_as_name(word[0], before):
            continue
        found[speaker] = max(found.get(speaker, 0.0), 1.0 if term in names else BY_GREETING)
        parts += question[done : word.start()], ("my" if own else "I") if english else ""
        done = word.end()
    if not found:
        said = model is not None and YOU_SAID.search(question) is not None
        return Naming(text=question, speaker=model if said else None, certainty=float(said))
    text = " ".join("".join([*parts, question[done:]]).split()) or question
    if len(found) > 1:
        return Naming(text=text, speaker=None, certainty=0.0)
    [(speaker, certainty)] = found.items()
    return Naming(text=text, speaker=speaker, certainty=certainty)
