"""Free answers: questions without their options, and the judge that grades them."""

from collections.abc import Sequence
from dataclasses import replace

from scaleqa.packages.package import Package, Question


def freed(packages: Sequence[Package]) -> list[Package]:
    """Hides the options of questions: the right answer is the text of the right option.

    Questions without options stay as they are. All are graded by a language model.
    """
    return [
        replace(
            package,
            questions=tuple(_freed(question) for question in package.questions),
            settings={**package.settings, "free": True},
        )
        for package in packages
    ]


def graded_by(packages: Sequence[Package], grader: str | None) -> list[Package]:
    """Gives the questions without options another judge; None leaves them as they are."""
    if grader is None:
        return [*packages]
    return [
        replace(
            package,
            questions=tuple(
                replace(question, grader=grader) if question.options is None else question
                for question in package.questions
            ),
        )
        for package in packages
    ]


def _freed(question: Question) -> Question:
    if question.options is None or question.answer is None:
        return question
    return replace(question, options=None, answer=question.options[question.answer], grader="judge")
