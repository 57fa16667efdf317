"""Messages from plain text: `Name: text` lines, perhaps with a time before them, or paragraphs."""

import re
from collections import Counter
from collections.abc import Iterator

from tsim.logs.fields import ROLES
from tsim.logs.records import Entry

TIME = r"(?:\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)\]?\s+)?"
SPOKEN = re.compile(TIME + r"([^\s:\[\](){}<>\"'#*-][^:\[\](){}<>\"]{0,39}):(?:\s+|$)(.*)")


def speakers(text: str) -> frozenset[str]:
    """Returns the names that begin lines of a dialogue; none if the text is not a dialogue.

    The first line must begin with a name and a colon. Names count if they occur twice, if chat APIs
    use them, if they follow a time, or if every line begins with a name.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    found = [SPOKEN.match(line) for line in lines]
    names = Counter(match[2].strip() for match in found if match)
    if not found or found[0] is None:
        return frozenset()
    everywhere = len(lines) > 1 and all(found)
    timed = {match[2].strip() for match in found if match and match[1]}
    sure = {name for name in names if name.lower() in ROLES} | timed
    kept = {name for name, n in names.items() if everywhere or n > 1 or name in sure}
    return frozenset(kept) if found[0][2].strip() in kept else frozenset()


def read_dialogue(text: str) -> Iterator[Entry]:
    """Yields a message wherever a line begins with a name; lines without one continue it."""
    names = speakers(text)
    where, head, said = "line 1", {"role": "user"}, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        match = SPOKEN.match(line)
        if match and (match[2].strip() in names or not names):
            yield from _message(where, head, said)
            where, said = f"line {number}", [match[3]]
            head = {"role": match[2].strip()} | ({"time": match[1]} if match[1] else {})
        else:
            said.append(line)
    yield from _message(where, head, said)


def read_paragraphs(text: str) -> Iterator[Entry]:
    """Yields a message of the user for each paragraph."""
    start, said = 1, list[str]()
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            start = start if said else number
            said.append(line)
        else:
            yield from _message(f"line {start}", {"role": "user"}, said)
            said = []


def _message(where: str, head: dict[str, str], lines: list[str]) -> Iterator[Entry]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield where, {**head, "text": text}
