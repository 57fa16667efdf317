"""What readers who did not write the records made of them.

The readers' raw answers ship with the records, so that anybody can compute the figures again.
Open-book readers saw dialogue, question and options; closed-book readers saw no dialogue and were
told that unconventional answers are common. No reader saw a key.
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
        id: The record.
        seal: Of the question and options that were read.
        mode: With or without the dialogue.
        reader: Who read it.
        answer: The letter chosen.
        flags: `ambiguous`, `unsupported` or `contrived`, where the reader thought so.
        note: The reader's words on that.
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
    """The figures of one mode.

    Attributes:
        mode: With or without the dialogue.
        records: Records read.
        right: How many were answered right.
        accuracy: Their share.
        interval: Wilson's 95 % interval.
        wrong: Ids answered otherwise.
        flagged: Ids by flag.
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
        DataError: A line is none.
    """
    answers = []
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            answers.append(Answer.model_validate_json(line))
        except ValidationError as error:
            raise DataError(f"{file.name}, line {number}: no reader's answer") from error
    return answers


def calibrate(records: Sequence[Record], answers: Sequence[Answer]) -> list[Calibration]:
    """Grades the answers.

    Raises:
        DataError: An answer is to a record that is not there or was edited since.
    """
    by_id = {record.id: record for record in records}
    for answer in answers:
        record = by_id.get(answer.id)
        if record is None or seal_of(record) != answer.seal:
            raise DataError(
                f"{answer.id} is not the record that {answer.reader} read; read it anew"
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
