"""Multiple choice: the letter in a reply, parsed strictly."""

import re

from scaleqa.backends import ChatModel
from scaleqa.judges.declaration import JudgeDeclaration
from scaleqa.judges.protocol import Task, Verdict
from scaleqa.judges.reply import rationale_of, settled
from scaleqa.options import NoOptions


class LetterJudge:
    """Compares the letter in a reply with the correct one."""

    identity = "letter/1"

    def grade(self, task: Task, reply: str) -> Verdict:
        """Compares the letter in the reply with the correct one."""
        letter = letter_of(reply, "".join(task.options or ()))
        return settled(task, reply, letter) or Verdict(
            answer=letter, correct=letter == task.gold, rationale=rationale_of(reply)
        )


def letter_of(reply: str, letters: str) -> str | None:
    """Returns the letter in an ANSWER line, or of a reply that consists of a letter only.

    Anything else gives None, including two ANSWER lines that differ.

    Args:
        reply: The reply.
        letters: The letters to choose from, for example `ABCD`.
    """
    if not letters:
        return None
    written = {letter.casefold(): letter for letter in letters}
    choice = f"([{re.escape(letters)}])"
    lines = re.findall(
        rf"^[^\w\n]*answer[^\w\n]*{choice}\b", reply, flags=re.IGNORECASE | re.MULTILINE
    )
    # Without case, more characters match than have the same lower case: no letter is then named.
    named = {written.get(match.casefold()) for match in lines}
    if named:
        return named.pop() if len(named) == 1 else None
    bare = re.fullmatch(rf"\s*\(?{choice}\)?[.:]?\s*", reply)
    return bare[1] if bare else None


def _make(options: NoOptions, model: ChatModel | None) -> LetterJudge:
    return LetterJudge()


JUDGE = JudgeDeclaration(
    name="letter",
    summary="The letter of the correct option.",
    example="letter",
    options=NoOptions,
    make=_make,
)
