"""What a judge is. A judge joins with one file, under the entry-point group `scaleqa.judges`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a reply is graded against.

    Attributes:
        question: What was asked.
        gold: The right answer.
        options: The choices by letter, where there are any.
    """

    question: str
    gold: str
    options: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a reply says, and whether that is right.

    Attributes:
        answer: The answer as read from the reply; None if it gives none.
        correct: Whether the answer is right; an absent answer is not.
        rationale: The reason given, empty where there is none.
    """

    answer: str | None
    correct: bool
    rationale: str = ""


class Judge(Protocol):
    """Grades replies."""

    @property
    def identity(self) -> str:
        """Names the judge and its settings in the rows."""
        ...

    def grade(self, task: Task, reply: str) -> Verdict:
        """Grades one reply."""
        ...
