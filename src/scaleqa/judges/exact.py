"""Free text: the answer must equal the gold text, ignoring case, articles and punctuation."""

import re
import unicodedata

from scaleqa.backends import ChatModel
from scaleqa.judges.declaration import JudgeDeclaration
from scaleqa.judges.protocol import Task, Verdict
from scaleqa.judges.reply import AROUND, answer_of, rationale_of, settled
from scaleqa.options import NoOptions

ARTICLE = re.compile(r"^(?:a|an|the)\s+(?=\S)")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")


class ExactJudge:
    """Compares texts without what surrounds them."""

    identity = "exact/1"

    def grade(self, task: Task, reply: str) -> Verdict:
        """Compares the answer in the reply with the correct one."""
        answer = answer_of(reply)
        return settled(task, reply, answer) or Verdict(
            answer=answer,
            correct=answer is not None and _same(answer, task.gold),
            rationale=rationale_of(reply),
        )


def _same(answer: str, gold: str) -> bool:
    said = stripped(answer)
    return bool(said) and said == stripped(gold)


def stripped(text: str) -> str:
    """Returns a text without case, surrounding punctuation, a leading article, repeated spaces.

    Signs inside and those that belong to numbers and names (`-3`, `C++`, `C#`) stay.
    """
    plain = THOUSANDS.sub("", unicodedata.normalize("NFKC", text).casefold())
    words = " ".join(plain.split()).strip(AROUND)
    return ARTICLE.sub("", words)


def _make(options: NoOptions, model: ChatModel | None) -> ExactJudge:
    return ExactJudge()


JUDGE = JudgeDeclaration(
    name="exact",
    summary="The same text, but for case, a leading article and surrounding punctuation.",
    example="exact",
    options=NoOptions,
    make=_make,
)
