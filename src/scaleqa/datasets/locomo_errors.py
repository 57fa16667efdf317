"""A published list of errors in LoCoMo's answer key, read as its authors publish it.

The list is `errors.json` of `dial481/locomo-audit` (CC BY-NC 4.0): 156 entries, each with the
question, what is wrong with it, and the evidence and answer that the auditors found instead. It is
not part of this package.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from scaleqa.datasets.published import read_published
from scaleqa.errors import DataError

QUESTION_ID = r"^locomo_\d+_qa\d+$"
# What is done about listed questions: they are left out, or asked with the list's corrections.
Mend: TypeAlias = Literal["drop", "correct"]
# The place of a conversation in the file, and of a question in it; both from 0.
Place: TypeAlias = tuple[int, int]


class Listed(BaseModel):
    """The fields of a listed error that are used."""

    model_config = ConfigDict(frozen=True)

    question_id: str = Field(pattern=QUESTION_ID)
    question: str
    error_type: str = Field(min_length=1)
    correct_evidence: tuple[str, ...]
    correct_answer: str | int | float

    @property
    def place(self) -> Place:
        """Where the question is in the published file."""
        _, conversation, question = self.question_id.split("_")
        return int(conversation), int(question.removeprefix("qa"))


class Errata:
    """The listed errors of a file of conversations.

    Attributes:
        sha256: Hash of the list.
        counts: How many questions are listed, by kind of error.
    """

    def __init__(self, errors: Sequence[Listed], sha256: str) -> None:
        """Indexes errors by the place of their question."""
        self._errors: Mapping[Place, Listed] = {one.place: one for one in errors}
        self.sha256 = sha256
        self.counts = dict(sorted(Counter(one.error_type for one in errors).items()))

    def of(self, conversation: int) -> dict[int, Listed]:
        """Returns what is listed about a conversation, by the place of the question."""
        return {place: one for (at, place), one in self._errors.items() if at == conversation}

    def check(self, questions: Mapping[Place, str], path: Path) -> None:
        """Checks that the list is about these questions.

        Raises:
            DataError: A listed question is not there, or reads differently.
        """
        for place, one in self._errors.items():
            if questions.get(place) != one.question:
                raise DataError(
                    f"{path} lists {one.question_id} as {one.question!r:.80}, and the file of "
                    f"conversations has {questions.get(place)!r:.80} there; use the list with the "
                    "release that it was made for"
                )


def load_errata(path: Path) -> Errata:
    """Reads a list of errors, plain or gzipped.

    Raises:
        DataError: The file is missing or has another format.
    """
    errors, sha256 = read_published(
        path, TypeAdapter(tuple[Listed, ...]), of="the LoCoMo audit", files="errors.json"
    )
    twice = [name for name, n in Counter(one.question_id for one in errors).items() if n > 1]
    if twice:
        raise DataError(f"{path} lists {twice[0]} twice; expected each question once")
    return Errata(errors, sha256)
