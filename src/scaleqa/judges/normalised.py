"""Free text: the answer must have the same words as the gold text, in the same order."""

from scaleqa.backends import ChatModel
from scaleqa.judges.declaration import JudgeDeclaration
from scaleqa.judges.protocol import Task, Verdict
from scaleqa.judges.reply import answer_of, rationale_of, settled
from scaleqa.judges.words import words_of
from scaleqa.options import NoOptions


class NormalisedJudge:
    """Compares the words of texts.

    It is more lenient than `exact`, which keeps articles, punctuation and symbols inside a text.
    """

    identity = "normalised/1"

    def grade(self, task: Task, reply: str) -> Verdict:
        """Compares the words of the answer with those of the correct one."""
        answer = answer_of(reply)
        said = words_of(answer or "")
        return settled(task, reply, answer) or Verdict(
            answer=answer,
            correct=bool(said) and said == words_of(task.gold),
            rationale=rationale_of(reply),
        )


def _make(options: NoOptions, model: ChatModel | None) -> NormalisedJudge:
    return NormalisedJudge()


JUDGE = JudgeDeclaration(
    name="normalised",
    summary="The same words, without articles, punctuation, case and spellings of numbers.",
    example="normalised",
    options=NoOptions,
    make=_make,
)
