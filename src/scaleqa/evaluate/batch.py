"""Answers by batch: requests go out as one file, answers come back as another.

Providers answer a batch at a discount, hours later, so nothing can be written back between two
questions: a batch is a run without write-back. Requests and answers have the form of OpenAI's batch
API; a second file holds what rows need besides the answers.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from scaleqa.backends import ChatModel, Price, Reply, Request
from scaleqa.backends.batchfile import read_answers, request_line, text_lines, to_lines
from scaleqa.backends.openai import answer_body
from scaleqa.errors import DataError
from scaleqa.evaluate.feed import fed_system
from scaleqa.evaluate.grading import Grading, Reading, graded
from scaleqa.evaluate.lock import locked
from scaleqa.evaluate.loop import RunSettings, run_of
from scaleqa.evaluate.rowfile import read_row, read_rows, row_path, write_rows, write_whole
from scaleqa.evaluate.rows import Row
from scaleqa.judges import Judge, open_judge
from scaleqa.packages import Package
from scaleqa.prompts import Template
from scaleqa.systems import Tools, check_systems
from tsim.embed import Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """What is exported.

    Attributes:
        systems: Names and options of the systems.
        answer_model: The answer model, by the provider's name.
        template: The prompt.
        model: A language model for the systems' own use.
        judge_model: A chat model, for questions that one grades.
    """

    systems: tuple[str, ...]
    answer_model: str
    template: Template
    model: ChatModel | None = None
    judge_model: ChatModel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A backend that answers later, by file."""

    model: str
    stand_in = False

    @property
    def identity(self) -> str:
        """Names the model."""
        return f"batch:{self.model}"

    def reply(self, request: Request) -> Reply:
        """Cannot be asked at once.

        Raises:
            DataError: Always.
        """
        raise DataError(f"{self.identity} answers by file; see: scaleqa batch --help")

    def close(self) -> None:
        """Holds nothing."""


def export_batch(
    packages: Sequence[Package],
    settings: BatchSettings,
    embedder: Embedder,
    out: Path,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Retrieves for every question and writes the requests; returns how many.

    Args:
        packages: The threads and questions.
        settings: Systems, model and prompt.
        embedder: For the systems.
        out: The file of requests.
        progress: Called with questions done and in all.

    Raises:
        DataError: The file is there already, or the prompt does not fit the questions.
    """
    if out.exists():
        raise DataError(f"{out} is there already; name a new file, or remove it first")
    check_systems(settings.systems, Tools(embedder=embedder, model=settings.model))
    total = len(settings.systems) * sum(len(package.questions) for package in packages)
    requests: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for system in settings.systems:
        for package in packages:
            for row, request in _ask_all(package, system, settings, embedder):
                line = _request_line(row, answer_body(settings.answer_model, request))
                requests.append(line)
                stored = row.model_dump(mode="json", exclude_none=True)
                rows.append({"custom_id": line["custom_id"], "row": stored})
                if progress:
                    progress(len(rows), total)
    write_whole(_rows_beside(out), to_lines(rows))
    write_whole(out, to_lines(requests))
    return total


def import_batch(
    prompts: Path,
    answers: Sequence[Path],
    out: Path,
    embedder: Embedder,
    *,
    partial: bool = False,
    price: Price | None = None,
    judge_model: ChatModel | None = None,
) -> list[Row]:
    """Makes rows of exported requests and their answers, and returns them.

    Args:
        prompts: The file that was exported.
        answers: What the provider gave back: answers, and failures if they are a file of their own.
        out: Directory for the rows.
        embedder: Compares rationales.
        partial: Whether questions without an answer are left out rather than refused.
        price: What tokens cost, where known.
        judge_model: A chat model, for questions that one grades.

    Raises:
        DataError: Answers are missing, doubled or of other requests, or `out` holds another run.
    """
    beside = _rows_beside(prompts)
    if not beside.is_file():
        raise DataError(f"{beside} is missing; it is written by: scaleqa batch export")
    asked = dict(_asked(beside))
    replies = read_answers(answers, {*asked})
    missing = len(asked) - len(replies)
    if missing and (not partial or not replies):
        raise DataError(
            f"{missing} of {len(asked)} requests have no answer or a failed one; ask for them "
            "again and name that file too, or leave them out with --partial"
        )
    files: dict[Path, list[Row]] = defaultdict(list)
    judges: dict[str, Judge] = {}
    for key, row in asked.items():
        if key in replies and row.run.reader:
            if row.grader not in judges:
                judges[row.grader] = open_judge(row.grader, judge_model)
            judge = judges[row.grader]
            reader = row.run.reader.model_copy(update={"judge": judge.identity})
            asked_by = row.model_copy(update={"run": row.run.model_copy(update={"reader": reader})})
            path = row_path(out, row.run.system, row.run.package)
            files[path].append(graded(asked_by, replies[key], judge, embedder, price=price))
    with locked(out):
        whole = {path: _joined(path, rows) for path, rows in files.items()}
        for path, rows in whole.items():
            write_rows(path, rows)
    return [row for rows in whole.values() for row in rows]


def _joined(path: Path, rows: Sequence[Row]) -> list[Row]:
    """Adds rows to those of the same run that are there; a question answered again is replaced."""
    there = read_rows(path) if path.exists() else []
    if any(old.run != rows[0].run for old in there):
        raise DataError(f"{path} holds rows of another run; choose another --out")
    known = {row.id: row for row in (*there, *rows)}
    return sorted(known.values(), key=lambda row: row.place)


def _rows_beside(prompts: Path) -> Path:
    return prompts.with_suffix(".rows.jsonl")


def _asked(beside: Path) -> Iterator[tuple[str, Row]]:
    """Reads what was asked; earlier versions wrote the row beside the id, not under a name."""
    for place, text in enumerate(text_lines(beside)):
        try:
            line = from_json(text)
            key = str(line.pop("custom_id"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{beside}, line {place + 1} is damaged; export the batch again"
            ) from error
        yield key, read_row(line.get("row", line), beside, place)


def _ask_all(
    package: Package, system: str, settings: BatchSettings, embedder: Embedder
) -> Iterator[tuple[Row, Request]]:
    reading = Reading(
        backend=Provider(model=settings.answer_model),
        template=settings.template,
        writeback=False,
        judge_model=settings.judge_model,
    )
    grading = Grading(reading, package, embedder)
    asking = RunSettings(system=system, reading=reading, model=settings.model)
    run = run_of(package, asking, embedder, grading)
    with fed_system(package, run, embedder, model=settings.model) as fed:
        for place, question in enumerate(package.questions):
            row, found = fed.ask(place, detail=True)
            yield row, grading.request(question, found)


def _request_line(row: Row, body: dict[str, Any]) -> dict[str, Any]:
    """Writes a request; its id holds a hash, so that answers to another prompt do not fit."""
    content = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:8]
    key = f"{row.run.system}/{row.run.package}/{row.id}#{content}"
    return request_line(key, body)
