"""Free text: the answer must equal the gold text, ignoring case, articles and punctuation."""

import re
import unicodedata

from scaleqa.judges.protocol import Task, Verdict
from scaleqa.judges.reply import answer_of, rationale_of

ARTICLE = re.compile(r"^(?:a|an|the)\s+(?=\S)")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
# Signs that may surround an answer without being part of it.
AROUND = " \t.,;:!?\"'`*_()[]{}<>\u2018\u2019\u201c\u201d\u00ab\u00bb\u2026\u3002\u3001\uff01\uff1f"


class ExactJudge:
    """Compares normalised texts."""

    identity = "exact/1"

    def grade(self, task: Task, reply: str) -> Verdict:
        """Compares the answer in the reply with the correct one."""
        answer = answer_of(reply)
        return Verdict(
            answer=answer,
            correct=answer is not None and _same(answer, task.gold),
            rationale=rationale_of(reply),
        )


def _same(answer: str, gold: str) -> bool:
    said = normalised(answer)
    return bool(said) and said == normalised(gold)


def normalised(text: str) -> str:
    """Returns a text without case, surrounding punctuation, a leading article, repeated spaces.

    Signs inside and those that belong to numbers and names (`-3`, `C++`, `C#`) stay.
    """
    plain = THOUSANDS.sub("", unicodedata.normalize("NFKC", text).casefold())
    words = " ".join(plain.split()).strip(AROUND)
    return ARTICLE.sub("", words)
