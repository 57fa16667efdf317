"""Blind readings of the records, by readers who did not write them.

The readers' raw answers ship with the records, so that anyone can recompute the figures. Open-book
readers saw dialogue, question and options. Closed-book readers saw no dialogue and were informed
that unconventional answers are common. No reader saw the answer key.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from scaleqa.errors import DataError
from scaleqa.records.draw import seal_of
from scaleqa.records.schema import Letter, Record
from scaleqa.stats import Interval, wilson


class Answer(BaseModel):
    """One reader's answer to one record.

    Attributes:
        id: The id of the record.
        seal: The seal of the question and options that were read.
        mode: With or without the dialogue.
        reader: Who read it.
        answer: The chosen letter.
        flags: `ambiguous`, `unsupported` or `contrived`, if the reader found it so.
        note: The reader's comment on the flags.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    seal: str
    mode: Literal["open", "closed"]
    reader: str
    answer: Letter
    flags: tuple[Literal["ambiguous", "unsupported", "contrived"], ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The results of one mode.

    Attributes:
        mode: With or without the dialogue.
        records: Number of records read.
        right: Number of records answered correctly.
        accuracy: Share of records answered correctly.
        interval: Wilson's 95 % interval.
        wrong: Ids of records answered incorrectly.
        flagged: Ids of flagged records, by flag.
    """

    mode: str
    records: int
    right: int
    accuracy: float
    interval: Interval
    wrong: list[str]
    flagged: dict[str, list[str]]


def read_answers(file: Traversable) -> list[Answer]:
    """Reads raw answers.

    Raises:
        DataError: A line is not a valid answer.
    """
    answers = []
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            answers.append(Answer.model_validate_json(line))
        except ValidationError as error:
            raise DataError(f"{file.name}, line {number}: not a reader's answer") from error
    return answers


def calibrate(records: Sequence[Record], answers: Sequence[Answer]) -> list[Calibration]:
    """Grades the answers.

    Raises:
        DataError: An answer belongs to a record that is missing or was edited afterwards.
    """
    by_id = {record.id: record for record in records}
    for answer in answers:
        record = by_id.get(answer.id)
        if record is None or seal_of(record) != answer.seal:
            raise DataError(
                f"{answer.id} is not the record that {answer.reader} read; have it read again"
            )
    out = []
    for mode in ("open", "closed"):
        own = [answer for answer in answers if answer.mode == mode]
        if not own:
            continue
        wrong = [a.id for a in own if a.answer != by_id[a.id].answer]
        flags = sorted({flag for answer in own for flag in answer.flags})
        out.append(
            Calibration(
                mode=mode,
                records=len(own),
                right=len(own) - len(wrong),
                accuracy=(len(own) - len(wrong)) / len(own),
                interval=wilson(len(own) - len(wrong), len(own)),
                wrong=sorted(wrong),
                flagged={flag: sorted(a.id for a in own if flag in a.flags) for flag in flags},
            )
        )
    return out
