"""The protocol of judges, which are registered in the entry-point group `scaleqa.judges`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from scaleqa.backends import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a reply is graded against.

    Attributes:
        question: The text of the question.
        gold: The correct answer.
        options: The options by letter, if there are any.
        kind: The data set's own type of question; None if it has none.
        absent: Whether the matter of the question never came up in the thread.
        may_abstain: Whether the prompt offers to say that it never came up.
    """

    question: str
    gold: str
    options: Mapping[str, str] | None = None
    kind: str | None = None
    absent: bool = False
    may_abstain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer in a reply, and whether it is correct.

    Attributes:
        answer: The answer parsed from the reply; None if there is none.
        correct: Whether the answer is correct; a missing answer is not.
        rationale: The rationale given; empty if there is none.
        abstained: Whether the reply says that the matter never came up, where that is offered.
        score: How far the answer agrees, from 0 to 1, if the judge computes that.
        heard: What a language model said about the answer; None if none was asked.
    """

    answer: str | None
    correct: bool
    rationale: str = ""
    abstained: bool = False
    score: float | None = None
    heard: Reply | None = None


class Judge(Protocol):
    """Grades replies."""

    @property
    def identity(self) -> str:
        """The judge and all settings that its verdicts depend on, as recorded in rows."""
        ...

    def grade(self, task: Task, reply: str) -> Verdict:
        """Grades one reply."""
        ...
