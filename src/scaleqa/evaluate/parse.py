"""From a reply to a letter, strictly."""

import re
from dataclasses import dataclass

ANSWER = re.compile(r"^\W*answer\W*\s*\(?([ABCD])\b", re.IGNORECASE | re.MULTILINE)
BARE = re.compile(r"\s*\(?([ABCD])\)?[.:]?\s*")
RATIONALE = re.compile(r"^\W*rationale\W*\s*(.+)", re.IGNORECASE | re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What a reply says: a letter or none, and its rationale."""

    letter: str | None
    rationale: str


def parse(text: str) -> Parsed:
    """Reads a reply: an ANSWER line, or nothing but a letter; everything else is no answer.

    Two ANSWER lines that differ are no answer either.
    """
    letters = {match.upper() for match in ANSWER.findall(text)}
    bare = BARE.fullmatch(text)
    letter = letters.pop() if len(letters) == 1 else bare[1] if bare and not letters else None
    rationale = RATIONALE.search(text)
    return Parsed(letter=letter, rationale=rationale[1].strip() if rationale else "")
