"""Parsing replies: the ANSWER and RATIONALE lines that the prompts ask for."""

import re

ANSWER = re.compile(r"^\W*answer\W*[ \t]*(.*)", re.IGNORECASE | re.MULTILINE)
RATIONALE = re.compile(r"^\W*rationale\W*\s*(.+)", re.IGNORECASE | re.MULTILINE | re.DOTALL)


def rationale_of(reply: str) -> str:
    """Returns the text after RATIONALE, to the end of the reply; empty if there is none."""
    found = RATIONALE.search(reply)
    return found[1].strip() if found else ""


def answer_of(reply: str) -> str | None:
    """Returns the text of the ANSWER line, or the whole reply if it has no such line.

    Returns None if there are two ANSWER lines that differ.
    """
    lines = {found.strip() for found in ANSWER.findall(reply)}
    text = lines.pop() if len(lines) == 1 else "" if lines else reply.strip()
    return text or None
