"""Blind readings of second wordings and asides, and what they decide.

A reader never sees the answer key, and reads nothing that it wrote. On a *shelf*, it first picks
the dialogue that a question is about among twenty, from the question alone, and then answers. With
an *open* book it sees the dialogue, question and options; with a *closed* book only question and
options. The raw readings ship with the records, so that anyone can recompute what they decide.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from scaleqa.errors import DataError
from scaleqa.records.draw import DrawReceipt, seal, seal_of
from scaleqa.records.load import THIRD_READINGS, TRACK_READINGS, files_beside, load_lines
from scaleqa.records.schema import ASIDE, Case, Letter, Record, Wording

Mode = Literal["shelf", "open", "closed"]
Flag = Literal["ambiguous", "unsupported", "leak", "contrived", "unnatural"]
# With one of these flags a question is left out.
FATAL = frozenset({"ambiguous", "unsupported", "leak"})


class Reading(BaseModel):
    """One reader's judgement of one question.

    Attributes:
        id: The id of the record or aside.
        seal: The seal of the question and options that were read.
        reader: A label of the reader's work; one reader may have several.
        mode: What the reader saw.
        pick: The id of the dialogue that the reader picked from a shelf.
        also: Ids of dialogues that fit the question equally well.
        sure: Whether the reader was sure of the pick.
        answer: The chosen letter; None if only a dialogue was picked.
        flags: Problems that the reader found.
        note: The reader's comment.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    seal: str
    reader: str
    mode: Mode
    pick: str | None = None
    also: tuple[str, ...] = ()
    sure: bool = True
    answer: Letter | None = None
    flags: tuple[Flag, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """What a question must be judged by.

    Attributes:
        id: The id of the record or aside, which is also the id of its dialogue.
        seal: The seal of question and options.
        answer: The correct letter.
    """

    id: str
    seal: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The results of one mode of reading.

    Attributes:
        mode: What the readers saw.
        readings: Number of readings.
        picked: Readings that picked the right dialogue; None if none was to be picked.
        right: Readings with the correct letter.
        flags: How often each flag was given.
    """

    mode: str
    readings: int
    picked: int | None
    right: int
    flags: Mapping[str, int]


def shipped_third_readings() -> list[Reading]:
    """Returns all readings of the third split, including of records left out."""
    return load_lines(files_beside(None, THIRD_READINGS), Reading)


def shipped_track_readings() -> list[Reading]:
    """Returns all readings of second wordings and asides, including of those left out."""
    return load_lines(files_beside(None, TRACK_READINGS), Reading)


def sealed_wordings(wordings: Iterable[Wording], records: Iterable[Record]) -> list[Sealed]:
    """Returns what second wordings are judged by; those without a record are left out."""
    by_id = {record.id: record for record in records}
    return [
        Sealed(
            id=wording.id,
            seal=seal(wording.question, by_id[wording.id].options.as_list()),
            answer=by_id[wording.id].answer,
        )
        for wording in wordings
        if wording.id in by_id
    ]


def sealed_cases(cases: Iterable[Case]) -> list[Sealed]:
    """Returns what asides, or records, are judged by."""
    return [Sealed(id=case.id, seal=seal_of(case), answer=case.answer) for case in cases]


def is_aside_id(name: str) -> bool:
    """Returns whether an id is that of an aside; other readings are of second wordings."""
    return f":{ASIDE}-" in name


def correct_letters(records: Iterable[Record], receipts: Iterable[DrawReceipt]) -> dict[str, str]:
    """Returns the correct letters of all records, and of all asides that were drawn, by id."""
    drawn = {receipt.id: str(receipt.letter) for receipt in receipts if is_aside_id(receipt.id)}
    return drawn | {record.id: str(record.answer) for record in records}


def judge(readings: Sequence[Reading], letters: Mapping[str, str]) -> list[Judged]:
    """Grades readings, mode by mode.

    Args:
        readings: The readings.
        letters: The correct letters by id; readings of other questions are ignored.
    """
    found = []
    for mode in ("shelf", "open", "closed"):
        own = [reading for reading in readings if reading.mode == mode and reading.id in letters]
        if own:
            flags = sorted({flag for reading in own for flag in reading.flags})
            found.append(
                Judged(
                    mode=mode,
                    readings=len(own),
                    picked=sum(r.pick == r.id for r in own) if mode == "shelf" else None,
                    right=sum(r.answer == letters[r.id] for r in own),
                    flags={flag: sum(flag in r.flags for r in own) for flag in flags},
                )
            )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the readings of one question say.

    Attributes:
        picked: Whether every reader of a shelf picked its dialogue.
        right: Whether every reader that saw its dialogue chose the correct letter.
        flagged: Whether one of them gave a flag with which it is left out.
    """

    picked: bool
    right: bool
    flagged: bool


def outcomes(readings: Iterable[Reading], key: Iterable[Sealed]) -> dict[str, Outcome]:
    """Returns what readings with a dialogue say about each question that has one, by id.

    Closed-book readings decide nothing: a right guess is no fault of a question.

    Raises:
        DataError: A question was changed after it was read.
    """
    own = {one.id: one for one in key}
    by_id: dict[str, list[Reading]] = {}
    for reading in readings:
        if reading.id not in own:
            continue
        if reading.seal != own[reading.id].seal:
            raise DataError(
                f"{reading.id} is not the question that {reading.reader} read; have it read again"
            )
        if reading.mode != "closed":
            by_id.setdefault(reading.id, []).append(reading)
    return {
        name: Outcome(
            picked=all(r.pick == name for r in some if r.mode == "shelf"),
            right=all(r.answer == own[name].answer for r in some if r.answer is not None)
            and any(r.answer is not None for r in some),
            flagged=any(FATAL & {*r.flags} for r in some),
        )
        for name, some in by_id.items()
    }
