"""Reading what authors and readers of second wordings and asides wrote.

A directory of authors' work contains `w*/out/*.jsonl` (second wordings), `a*/out/*.jsonl` (asides),
receipts of the draw (`draws.jsonl`) anywhere below `a*`, and files of keys (`*key*.json`). A key
says what was given to a reader: `{"READER/NN": {"mode": …, "dialogues": […], "questions": […]}}`.
The reader's picks are in `READER/out/NN.jsonl`, and its answers in `READER/out/NN.answers.jsonl`.
Both count from one. A file that does not exist has not been read yet.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from scaleqa.errors import DataError
from scaleqa.records.draw import DrawReceipt, read_ledger
from scaleqa.records.load import DRAWS, load_lines
from scaleqa.records.readings import Flag, Mode, Reading, sealed_asides, sealed_wordings
from scaleqa.records.schema import Aside, Letter, Record, Wording


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


Line = TypeVar("Line", _Pick, _Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authored:
    """What authors and readers wrote."""

    wordings: Sequence[Wording]
    asides: Sequence[Aside]
    receipts: Sequence[DrawReceipt]
    readings: Sequence[Reading]


def read_authored(path: Path, records: Sequence[Record]) -> Authored:
    """Reads a directory of authors' and readers' work.

    Args:
        path: The directory.
        records: The records that second wordings belong to.

    Raises:
        DataError: There is nothing in it, or a file cannot be read.
    """
    wordings = load_lines(sorted(path.glob("w*/out/*.jsonl")), Wording)
    asides = load_lines(sorted(path.glob("a*/out/*.jsonl")), Aside)
    if not wordings and not asides:
        raise DataError(f"{path} has neither w*/out/*.jsonl nor a*/out/*.jsonl")
    sealed = (*sealed_wordings(wordings, records), *sealed_asides(asides))
    seals = {one.id: one.seal for one in sealed}
    return Authored(
        wordings=wordings,
        asides=asides,
        receipts=[r for file in sorted(path.glob(f"a*/**/{DRAWS}")) for r in read_ledger(file)],
        readings=[r for key in sorted(path.glob("*key*.json")) for r in _readings(key, seals)],
    )


def _readings(key: Path, seals: Mapping[str, str]) -> Iterable[Reading]:
    try:
        given = TypeAdapter(dict[str, _Given]).validate_json(key.read_bytes())
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise DataError(f"{key.name}: {where}: {problem['msg']}") from error
    for name, one in given.items():
        reader, _, number = name.rpartition("/")
        place = key.parent / reader / "out"
        picks = _by_question(place / f"{number}.jsonl", _Pick, one)
        answers = _by_question(place / f"{number}.answers.jsonl", _Answer, one)
        for q in sorted({*picks} | {*answers}):
            question = one.questions[q - 1]
            if question in seals:
                yield _reading(reader, one, question, picks.get(q), answers.get(q), seals[question])


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
