"""Free text: the words of the answer and of the gold text must overlap far enough (token F1)."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from scaleqa.backends import ChatModel
from scaleqa.judges import locomo
from scaleqa.judges.declaration import JudgeDeclaration
from scaleqa.judges.protocol import Task, Verdict
from scaleqa.judges.reply import answer_of, rationale_of, settled
from scaleqa.judges.words import overlap, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class F1Options:
    """How texts are compared, and which overlap is enough."""

    threshold: Annotated[
        float, Field(gt=0, le=1, description="The lowest F1 of a correct answer.")
    ] = 0.5
    convention: Annotated[
        Literal["squad", "locomo"],
        Field(description="Words as in normalised, or as LoCoMo's authors compare them."),
    ] = "squad"


class F1Judge:
    """Computes the token F1 of the answer; it is correct from a threshold on."""

    def __init__(self, options: F1Options) -> None:
        """Keeps the options."""
        self._options = options

    @property
    def identity(self) -> str:
        """Convention and threshold."""
        return f"f1/1/{self._options.convention}/{self._options.threshold:g}"

    def grade(self, task: Task, reply: str) -> Verdict:
        """Compares the words of the answer with those of the correct one."""
        answer = answer_of(reply)
        known = settled(task, reply, answer)
        if known or answer is None:
            return known or Verdict(answer=None, correct=False)
        if self._options.convention == "locomo":
            score = locomo.score(task, answer)
        else:
            score = overlap(words_of(answer), words_of(task.gold))
        return Verdict(
            answer=answer,
            correct=score >= self._options.threshold,
            rationale=rationale_of(reply),
            score=round(score, 6),
        )


def _make(options: F1Options, model: ChatModel | None) -> F1Judge:
    return F1Judge(options)


JUDGE = JudgeDeclaration(
    name="f1",
    summary="Enough words in common (token F1), as in SQuAD or as in LoCoMo.",
    example="f1:threshold=0.5,convention=locomo",
    options=F1Options,
    make=_make,
)
