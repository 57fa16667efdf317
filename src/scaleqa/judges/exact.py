"""Free text: the answer must equal the gold text, ignoring case, articles and punctuation."""

import re
import unicodedata

from scaleqa.judges.protocol import Task, Verdict
from scaleqa.judges.reply import answer_of, rationale_of

ARTICLES = re.compile(r"\b(?:a|an|the)\b")
PUNCTUATION = re.compile(r"[^\w\s]|_")


class ExactJudge:
    """Compares normalised texts."""

    identity = "exact/1"

    def grade(self, task: Task, reply: str) -> Verdict:
        """Compares the answer in the reply with the correct one."""
        answer = answer_of(reply)
        return Verdict(
            answer=answer,
            correct=answer is not None and normalised(answer) == normalised(task.gold),
            rationale=rationale_of(reply),
        )


def normalised(text: str) -> str:
    """Returns a text without case, punctuation, English articles and repeated spaces."""
    plain = PUNCTUATION.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(ARTICLES.sub(" ", plain).split())
