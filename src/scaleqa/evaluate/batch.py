"""Answers by batch: requests go out as one file, answers come back as another.

Providers answer a batch at a discount, hours later, so nothing can be written back between two
questions: a batch is a run without write-back. Requests and answers have the form of OpenAI's batch
API; beside the requests lies what rows need besides the answers.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from scaleqa.backends import Price, Reply, Request
from scaleqa.backends.openai import Completion, answer_body
from scaleqa.errors import DataError
from scaleqa.evaluate.loop import LoopSettings, fed_system, grade, row_path
from scaleqa.evaluate.rows import Row, read_rows, write_rows
from scaleqa.packages import Package
from tsim.embed import Embedder

URL = "/v1/chat/completions"


class _Response(BaseModel):
    status_code: int = 200
    body: Any = None


class _Line(BaseModel):
    custom_id: str
    response: _Response | None = None
    error: Any = None

    @property
    def failed(self) -> bool:
        return bool(self.error) or self.response is None or self.response.status_code != 200


def export_batch(
    packages: Sequence[Package],
    runs: Sequence[LoopSettings],
    model: str,
    embedder: Embedder,
    out: Path,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Retrieves for every question and writes the requests; returns how many.

    Args:
        packages: The threads and questions.
        runs: Systems and prompts, without write-back.
        model: The answer model, by the provider's name.
        embedder: For the systems.
        out: The file of requests.
        progress: Called with questions done and in all.

    Raises:
        DataError: The file is there already, or a run wants write-back.
    """
    if out.exists():
        raise DataError(f"{out} is there already; name a new file, or remove it first")
    if any(run.writeback for run in runs):
        raise DataError("a batch cannot write back: its answers come after the last question")
    total = len(runs) * sum(len(package.queries) for package in packages)
    requests: list[Row] = []
    rows: list[Row] = []
    for run in runs:
        for package in packages:
            for row, request in _ask_all(package, run, f"batch:{model}", embedder):
                line = _request_line(row, answer_body(model, request))
                requests.append(line)
                rows.append({"custom_id": line["custom_id"], **row})
                if progress:
                    progress(len(rows), total)
    write_rows(_rows_beside(out), rows)
    write_rows(out, requests)
    return total


def import_batch(
    prompts: Path,
    answers: Sequence[Path],
    out: Path,
    embedder: Embedder,
    *,
    partial: bool = False,
    price: Price | None = None,
) -> list[Row]:
    """Makes rows of exported requests and their answers, and returns them.

    Args:
        prompts: The file that was exported.
        answers: What the provider gave back: answers, and failures if they are a file of their own.
        out: Directory for the rows.
        embedder: Compares rationales.
        partial: Whether questions without an answer are left out rather than refused.
        price: What tokens cost, where known.

    Raises:
        DataError: Answers are missing, doubled or of other requests, or `out` holds another run.
    """
    beside = _rows_beside(prompts)
    if not beside.is_file():
        raise DataError(f"{beside} is missing; it is written by: scaleqa batch export")
    asked = {row.pop("custom_id"): row for row in read_rows(beside)}
    replies = _read_answers(answers, {*asked})
    missing = len(asked) - len(replies)
    if missing and (not partial or not replies):
        raise DataError(
            f"{missing} of {len(asked)} requests have no answer or a failed one; ask for them "
            "again and name that file too, or leave them out with --partial"
        )
    files: dict[Path, list[Row]] = defaultdict(list)
    for key, row in asked.items():
        if key in replies:
            path = row_path(out, row["run"]["system"], row["run"]["package"])
            files[path].append(grade(row, replies[key], 0.0, embedder, price))
    for path, rows in files.items():
        if path.exists() and any(old["run"] != rows[0]["run"] for old in read_rows(path)):
            raise DataError(f"{path} holds rows of another run; choose another --out")
    for path, rows in files.items():
        write_rows(path, rows)
    return [row for rows in files.values() for row in rows]


def _rows_beside(prompts: Path) -> Path:
    return prompts.with_suffix(".rows.jsonl")


def _ask_all(
    package: Package, run: LoopSettings, backend: str, embedder: Embedder
) -> Iterator[tuple[Row, Request]]:
    with fed_system(package, run, embedder) as fed:
        for query in package.queries:
            yield fed.ask(query, backend)


def _request_line(row: Row, body: dict[str, Any]) -> Row:
    """Writes a request; its id holds a hash, so that answers to another prompt do not fit."""
    content = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:8]
    key = f"{row['run']['system']}/{row['run']['package']}/{row['id']}#{content}"
    return {"custom_id": key, "method": "POST", "url": URL, "body": body}


def _read_answers(paths: Sequence[Path], known: set[str]) -> Mapping[str, Reply]:
    replies: dict[str, Reply] = {}
    for path in paths:
        for number, text in enumerate(_text_lines(path), 1):
            try:
                line = _Line.model_validate_json(text)
                answer = None if line.failed else _reply(line)
            except ValidationError as error:
                raise DataError(
                    f"{path}, line {number} is no answer of a batch: {text[:200]!r}"
                ) from error
            if line.custom_id not in known:
                raise DataError(
                    f"{path}, line {number} answers {line.custom_id!r}, which was not asked; are "
                    "these the answers to an earlier export?"
                )
            if answer and line.custom_id in replies:
                raise DataError(f"{path}, line {number} answers {line.custom_id!r} a second time")
            if answer:
                replies[line.custom_id] = answer
    return replies


def _text_lines(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text("utf-8").split("\n") if line.strip()]
    except FileNotFoundError:
        raise DataError(f"{path} is missing; it is what the provider gives back") from None


def _reply(line: _Line) -> Reply:
    return Completion.model_validate(line.response.body if line.response else None).reply
