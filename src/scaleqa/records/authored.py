"""Reading what authors and readers of second wordings, asides and talk wrote.

A directory of authors' work contains second wordings (`w1/out/*.jsonl` and so on for each author),
asides (`a1/out/*.jsonl`), receipts of the draw (`draws.jsonl`, anywhere below `a1`), and files of
keys (`*key*.json`). A key says what was given to a reader, at once:
`{"READER/NN": {"mode": …, "dialogues": […], "questions": […]}}`. The reader's picks are in
`READER/out/NN.jsonl`, and its answers in `READER/out/NN.answers.jsonl`; both count from one. What
the reader was shown, if it was kept (`READER/*/NN.txt`), must contain the questions as they are
now. Closed-book readers of asides need no key: `ac1/out/*.jsonl` has lines of an id and an answer.
Lives and their readings are in `talk/lives.jsonl` and `talk/readings.jsonl`. What does not exist
has not been read yet. Records of the third split and their readings have a directory of their own,
where authors are called `a1` and closed-book readers `ac1`, too.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from scaleqa.errors import DataError
from scaleqa.records.draw import DrawReceipt, read_ledger
from scaleqa.records.load import DRAWS, load_lines
from scaleqa.records.readings import Flag, Mode, Reading, sealed_cases, sealed_wordings
from scaleqa.records.schema import Aside, Letter, Life, Record, Wording
from scaleqa.records.talk_readings import TalkReading

# A reader and what was given to them at once: a directory and a file below it.
GIVEN = re.compile(r"\w[\w.=-]*/\w[\w.=-]*")


class _Given(BaseModel):
    """What was given to a reader at once: questions, and the dialogues of a shelf."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = "shelf"
    dialogues: tuple[str, ...] = ()
    questions: tuple[str, ...]


class _Pick(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    q: int
    pick: int
    also: tuple[int, ...] = ()
    sure: bool = True


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    q: int
    answer: Letter
    flags: tuple[Flag, ...] = ()
    note: str = ""


class _Guess(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    answer: Letter


Line = TypeVar("Line", _Pick, _Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authored:
    """What authors and readers wrote."""

    wordings: Sequence[Wording]
    asides: Sequence[Aside]
    receipts: Sequence[DrawReceipt]
    readings: Sequence[Reading]
    lives: Sequence[Life]
    talk_readings: Sequence[TalkReading]


def read_authored(path: Path, records: Sequence[Record]) -> Authored:
    """Reads a directory of authors' and readers' work.

    Args:
        path: The directory.
        records: The records that second wordings belong to.

    Raises:
        DataError: There is nothing in it, or a file cannot be read.
    """
    wordings = load_lines(sorted(path.glob("w[0-9]*/out/*.jsonl")), Wording)
    asides = load_lines(sorted(path.glob("a[0-9]*/out/*.jsonl")), Aside)
    lives = load_lines(sorted(path.glob("talk/lives.jsonl")), Life)
    if not wordings and not asides and not lives:
        raise DataError(
            f"{path} has neither w1/out/*.jsonl nor a1/out/*.jsonl nor talk/lives.jsonl"
        )
    sealed = (*sealed_wordings(wordings, records), *sealed_cases(asides))
    texts = {one.id: one.question for one in wordings} | {one.id: one.question for one in asides}
    asked = {one.id: _Asked(text=texts[one.id], seal=one.seal) for one in sealed}
    return Authored(
        wordings=wordings,
        asides=asides,
        receipts=_receipts(path),
        readings=_all_readings(path, asked),
        lives=lives,
        talk_readings=load_lines(sorted(path.glob("talk/readings.jsonl")), TalkReading),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Third:
    """What authors and readers of the third split wrote."""

    records: Sequence[Record]
    receipts: Sequence[DrawReceipt]
    readings: Sequence[Reading]


def read_third(path: Path) -> Third:
    """Reads a directory of authors' and readers' work on the third split.

    Raises:
        DataError: There is nothing in it, or a file cannot be read.
    """
    records = load_lines(sorted(path.glob("a[0-9]*/out/*.jsonl")), Record)
    if not records:
        raise DataError(f"{path} has no a1/out/*.jsonl with records")
    seals = {one.id: one.seal for one in sealed_cases(records)}
    asked = {one.id: _Asked(text=one.question, seal=seals[one.id]) for one in records}
    return Third(records=records, receipts=_receipts(path), readings=_all_readings(path, asked))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question as it is now."""

    text: str
    seal: str


def _receipts(path: Path) -> list[DrawReceipt]:
    files = sorted(path.glob(f"a[0-9]*/**/{DRAWS}"))
    return [receipt for file in files for receipt in read_ledger(file)]


def _all_readings(path: Path, asked: Mapping[str, _Asked]) -> list[Reading]:
    return [
        *(r for key in sorted(path.glob("*key*.json")) for r in _readings(key, asked)),
        *(r for file in sorted(path.glob("ac*/out/*.jsonl")) for r in _closed(file, asked)),
    ]


def _readings(key: Path, asked: Mapping[str, _Asked]) -> Iterable[Reading]:
    try:
        given = TypeAdapter(dict[str, _Given]).validate_json(key.read_bytes())
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise DataError(f"{key.name}: {where}: {problem['msg']}") from error
    for name, one in given.items():
        if not GIVEN.fullmatch(name):
            raise DataError(f"{key.name}: {name!r:.80} is not READER/NN, such as r1/01")
        reader, _, number = name.rpartition("/")
        place = key.parent / reader / "out"
        picks = _by_question(place / f"{number}.jsonl", _Pick, one)
        answers = _by_question(place / f"{number}.answers.jsonl", _Answer, one)
        shown = [_text(file) for file in (key.parent / reader).glob(f"*/{number}.txt")]
        for q in sorted({*picks} | {*answers}):
            question = one.questions[q - 1]
            if question not in asked:
                continue
            if shown and not any(asked[question].text in text for text in shown):
                raise DataError(f"{question} was changed after {name} was read; have it read again")
            seal = asked[question].seal
            yield _reading(reader, one, question, picks.get(q), answers.get(q), seal)


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not UTF-8 (byte {error.start})") from None


def _closed(file: Path, asked: Mapping[str, _Asked]) -> Iterable[Reading]:
    reader = file.parent.parent.name
    for line in load_lines([file], _Guess):
        if line.id in asked:
            seal = asked[line.id].seal
            yield Reading(id=line.id, seal=seal, reader=reader, mode="closed", answer=line.answer)


def _reading(
    reader: str, given: _Given, question: str, pick: _Pick | None, answer: _Answer | None, seal: str
) -> Reading:
    numbers = (pick.pick, *pick.also) if pick else ()
    outside = [number for number in numbers if not 1 <= number <= len(given.dialogues)]
    if outside:
        raise DataError(
            f"{reader} picked dialogue {outside[0]} for {question}, of {len(given.dialogues)}"
        )
    picked = [given.dialogues[number - 1] for number in numbers]
    return Reading(
        id=question,
        seal=seal,
        reader=reader,
        mode=given.mode,
        pick=picked[0] if picked else None,
        also=tuple(picked[1:]),
        sure=pick.sure if pick else True,
        answer=answer.answer if answer else None,
        flags=answer.flags if answer else (),
        note=answer.note if answer else "",
    )


def _by_question(file: Path, model: type[Line], given: _Given) -> dict[int, Line]:
    lines = load_lines([file], model) if file.is_file() else []
    for line in lines:
        if not 1 <= line.q <= len(given.questions):
            raise DataError(
                f"{file}: there is no question {line.q}, there are {len(given.questions)}"
            )
    found = {line.q: line for line in lines}
    if len(found) != len(lines):
        raise DataError(f"{file}: a question occurs twice")
    return found
