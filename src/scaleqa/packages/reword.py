"""Questions in other words: the same threads, asked about in second wordings."""

from collections.abc import Sequence
from dataclasses import replace

from scaleqa.errors import DataError
from scaleqa.packages.package import Package
from scaleqa.records import Case, Wording


def second_wordings(wordings: Sequence[Wording], cases: Sequence[Case]) -> list[Wording]:
    """Returns the second wordings of the records, ordered by id.

    Raises:
        DataError: There are none, or two of one record.
    """
    ids = {case.id for case in cases}
    own = sorted((one for one in wordings if one.id in ids), key=lambda one: one.id)
    if not own:
        raise DataError(
            f"none of {len(wordings)} second wordings belongs to one of the {len(cases)} records; "
            "leave out --wording other, or choose other records"
        )
    if len({one.id for one in own}) < len(own):
        raise DataError("a record has two second wordings; run: scaleqa data validate PATH")
    return own


def reworded(packages: Sequence[Package], wordings: Sequence[Wording]) -> list[Package]:
    """Keeps the questions with a second wording, in it, and the packages that ask one."""
    words = {one.id: one.question for one in wordings}
    asked = [
        replace(
            package,
            questions=tuple(
                replace(question, question=words[question.id])
                for question in package.questions
                if question.id in words
            ),
        )
        for package in packages
    ]
    return [package for package in asked if package.questions]
