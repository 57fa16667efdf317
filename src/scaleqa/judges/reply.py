"""Reading a reply: the ANSWER and RATIONALE lines that the prompts ask for."""

import re

from scaleqa.judges.protocol import Task, Verdict
from scaleqa.prompts import ABSTAIN

# The head of a line, which models like to set in bold or as a list item.
_HEAD = r"^[ \t>*_#-]*"
ANSWER = re.compile(_HEAD + r"answer\b[ \t*_]*:?[ \t*_]*(.*)$", re.IGNORECASE | re.MULTILINE)
RATIONALE = re.compile(
    _HEAD + r"rationale\b[ \t*_]*:?[ \t*_]*(.*)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
# Signs that may surround an answer without being part of it.
AROUND = " \t.,;:!?\"'`*_()[]{}<>\u2018\u2019\u201c\u201d\u00ab\u00bb\u2026\u3002\u3001\uff01\uff1f"


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


def abstains(task: Task, reply: str) -> bool:
    """Returns whether a reply says, in the form that the prompt offers, that nothing came up."""
    return task.may_abstain and is_abstention(reply)


def is_abstention(reply: str) -> bool:
    """Returns whether a reply has the form of an abstention."""
    answer = answer_of(reply)
    return answer is not None and " ".join(answer.split()).strip(AROUND).casefold() == (
        ABSTAIN.casefold()
    )


def settled(task: Task, reply: str, answer: str | None) -> Verdict | None:
    """Returns the verdict on a reply that need not be compared with the correct answer.

    Where the prompt offers to abstain, that is right if the matter never came up, and nothing else
    is; if it came up, abstaining is wrong. No answer is a wrong one everywhere.

    Args:
        task: What is graded against.
        reply: The reply.
        answer: The answer that a judge reads in it.

    Returns:
        The verdict; None if the answer has to be compared.
    """
    rationale = rationale_of(reply)
    if abstains(task, reply):
        return Verdict(answer=None, correct=task.absent, rationale=rationale, abstained=True)
    if answer is None or (task.may_abstain and task.absent):
        return Verdict(answer=answer, correct=False, rationale=rationale)
    return None
