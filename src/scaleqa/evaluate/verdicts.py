"""Verdicts of further judges, in files beside the rows: lines are only ever added, and synced.

Every judge has files of its own, named after its identity: `verdicts/JUDGE/SYSTEM/PACKAGE.jsonl`
beside `SYSTEM/PACKAGE.jsonl`. A line says which reply it is about, so that a verdict never counts
for another reply, and what a language model said, so that it can be read again.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, Literal

from pydantic import ValidationError

from scaleqa.backends import Price
from scaleqa.errors import DataError
from scaleqa.evaluate.grading import task_of
from scaleqa.evaluate.rowfile import VERDICTS, iterate, row_files, row_path, some_rows
from scaleqa.evaluate.rows import Row, Stored
from scaleqa.judges import Verdict
from tsim import private

NAME_LENGTH = 80


class Heading(Stored):
    """The first line of a file."""

    version: Literal[1] = 1
    judge: str
    """Identity of the judge."""


class Judgement(Stored):
    """A verdict on one reply."""

    id: str
    """Id of the question."""
    about: str
    """Hash of the reply and of what it was graded against."""
    correct: bool
    answer: str | None = None
    abstained: bool = False
    score: float | None = None
    said: str | None = None
    """What a language model said; None if none was asked."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    """Price of these tokens, where one was given."""
    cached: bool = False
    """Whether what the model said was known from before."""


def judgement(row: Row, verdict: Verdict, price: Price | None) -> Judgement:
    """Returns the line for a verdict."""
    heard = verdict.heard
    return Judgement(
        id=row.id,
        about=about(row),
        correct=verdict.correct,
        answer=verdict.answer,
        abstained=verdict.abstained,
        score=verdict.score,
        said=heard.text if heard else None,
        prompt_tokens=heard.prompt_tokens if heard else 0,
        completion_tokens=heard.completion_tokens if heard else 0,
        cost_usd=price.of(heard) if price and heard else None,
        cached=heard.cached if heard else False,
    )


def about(row: Row) -> str:
    """Returns a hash of the reply in a row, and of what it is graded against."""
    task = {**asdict(task_of(row)), "options": dict(row.options or {})}
    content = json.dumps([task, reply_of(row)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def reply_of(row: Row) -> str:
    """Returns the reply in a row.

    Raises:
        DataError: It has none.
    """
    reply = row.detail.reply if row.detail else None
    if reply is None:
        raise DataError(
            f"the row of {row.run.system} for {row.id} has no reply to grade; judges need rows of "
            "scaleqa run or scaleqa batch import"
        )
    return reply


def verdict_path(rows: Path, judge: str) -> Path:
    """Returns the file for the verdicts of a judge on the rows of a file."""
    named = re.sub(r"[^\w.=-]+", "_", judge)[:NAME_LENGTH].strip("_.")
    digest = hashlib.sha256(judge.encode()).hexdigest()[:8]
    return rows.parent.parent / VERDICTS / f"{named}-{digest}" / rows.parent.name / rows.name


class VerdictFile:
    """The verdicts of one judge on the rows of one file. Nothing is written before `append`."""

    def __init__(self, path: Path, judge: str) -> None:
        """Reads the verdicts that are there; a torn last line was never acknowledged.

        Raises:
            DataError: The file holds something else, or verdicts of another judge.
        """
        self.path = path
        self._judge = judge
        self._file: BinaryIO | None = None
        heading, lines, self._size = _read(path) if path.exists() else (None, [], 0)
        if heading and heading.judge != judge:
            raise DataError(
                f"{path} holds verdicts of {heading.judge}, expected {judge}; put back the file"
            )
        self.known = {(one.id, one.about): one for one in lines}

    def of(self, row: Row) -> Judgement | None:
        """Returns the verdict on the reply in a row, if there is one."""
        return self.known.get((row.id, about(row)))

    def append(self, one: Judgement) -> None:
        """Writes a verdict; it is on disk when this returns."""
        if self._file is None:
            self._file = private.create(self.path).open("r+b")
            self._file.truncate(self._size)
            self._file.seek(self._size)
            if not self._size:
                self._file.write(_line(Heading(judge=self._judge)))
        self._file.write(_line(one))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.known[one.id, one.about] = one

    def close(self) -> None:
        """Closes the file."""
        if self._file:
            self._file.close()


def judged_rows(directory: Path, *, detail: bool = True) -> list[Row]:
    """Reads all rows of a run, with what further judges say of their answers.

    Args:
        directory: The run, or several of them.
        detail: Whether to keep what takes much room.

    Raises:
        DataError: There are none, or a file holds something else.
    """
    rows: list[Row] = []
    for path in row_files(directory):
        files = _beside(path)
        found = (_attached(row, files) for row in iterate(path, detail=detail or bool(files)))
        rows += found if detail else (row.model_copy(update={"detail": None}) for row in found)
    return some_rows(rows, directory)


def with_verdicts(rows: Sequence[Row], out: Path) -> list[Row]:
    """Returns rows of a run with what further judges say of their answers.

    Args:
        rows: The rows, with their replies.
        out: The directory of the run.
    """
    paths = {row_path(out, row.run.system, row.run.package) for row in rows}
    files = {path: _beside(path) for path in paths}
    return [_attached(row, files[row_path(out, row.run.system, row.run.package)]) for row in rows]


def _attached(row: Row, files: Mapping[str, VerdictFile]) -> Row:
    if not files or not _replied(row):
        return row
    known = {judge: found for judge, file in files.items() if (found := file.of(row))}
    said = {judge: found.correct for judge, found in known.items()}
    return row.model_copy(update={"judged": said}) if said else row


def judgements(paths: Sequence[Path]) -> Iterator[tuple[str, Row, Judgement]]:
    """Goes through all verdicts on the rows of files: the judge, the row, and the verdict."""
    for path in paths:
        files = _beside(path)
        for row in iterate(path) if files else ():
            for judge, file in files.items():
                found = file.of(row) if _replied(row) else None
                if found:
                    yield judge, row, found


def _replied(row: Row) -> bool:
    return row.detail is not None and row.detail.reply is not None


def _beside(rows: Path) -> Mapping[str, VerdictFile]:
    """Opens the verdicts on the rows of a file, by judge."""
    place = rows.parent.parent / VERDICTS
    paths = sorted(place.glob(f"*/{rows.parent.name}/{rows.name}")) if place.is_dir() else []
    headings = {path: _read(path)[0] for path in paths}
    return {one.judge: VerdictFile(path, one.judge) for path, one in headings.items() if one}


def _read(path: Path) -> tuple[Heading | None, list[Judgement], int]:
    """Returns heading and verdicts, and how many bytes they take."""
    heading: Heading | None = None
    found: list[Judgement] = []
    size = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                if heading is None:
                    heading = Heading.model_validate_json(line)
                else:
                    found.append(Judgement.model_validate_json(line))
            except ValidationError as error:
                problem = error.errors(include_url=False)[0]
                raise DataError(
                    f"{path}, line {number} is no line of verdicts ({problem['msg']}); put back "
                    "the file, or remove it and judge again"
                ) from None
            size += len(line)
    return heading, found, size


def _line(one: Stored) -> bytes:
    content = one.model_dump(mode="json", exclude_none=True)
    return (json.dumps(content, ensure_ascii=False, sort_keys=True) + "\n").encode()
