"""The protocol of judges, which are registered in the entry-point group `scaleqa.judges`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a reply is graded against.

    Attributes:
        question: The text of the question.
        gold: The correct answer.
        options: The options by letter, if there are any.
    """

    question: str
    gold: str
    options: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer in a reply, and whether it is correct.

    Attributes:
        answer: The answer parsed from the reply; None if there is none.
        correct: Whether the answer is correct; a missing answer is not.
        rationale: The rationale given; empty if there is none.
    """

    answer: str | None
    correct: bool
    rationale: str = ""


class Judge(Protocol):
    """Grades replies."""

    @property
    def identity(self) -> str:
        """The judge and its settings, as recorded in rows."""
        ...

    def grade(self, task: Task, reply: str) -> Verdict:
        """Grades one reply."""
        ...
