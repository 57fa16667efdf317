"""Reading a reply: the ANSWER and RATIONALE lines that the prompts ask for."""

import re

# The head of a line, which models like to set in bold or as a list item.
_HEAD = r"^[ \t>*_#-]*"
ANSWER = re.compile(_HEAD + r"answer\b[ \t*_]*:?[ \t*_]*(.*)$", re.IGNORECASE | re.MULTILINE)
RATIONALE = re.compile(
    _HEAD + r"rationale\b[ \t*_]*:?[ \t*_]*(.*)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)


def rationale_of(reply: str) -> str:
    """Returns the text after RATIONALE, to the end of the reply; empty if there is none."""
    found = RATIONALE.search(reply)
    return found[1].strip() if found else ""


def before_rationale(reply: str) -> str:
    """Returns the part of a reply that may hold the answer."""
    found = RATIONALE.search(reply)
    return reply[: found.start()] if found else reply


def answer_of(reply: str) -> str | None:
    """Returns the text of the ANSWER line, or the whole reply if it has no such line.

    Two ANSWER lines that differ are no answer, and neither is an empty one.
    """
    said = before_rationale(reply)
    found = ANSWER.findall(said) or ANSWER.findall(reply)
    lines = {line.strip() for line in found}
    text = lines.pop() if len(lines) == 1 else "" if lines else said.strip()
    return text or None
