"""Answers by file: rows from exported requests and what came back for them."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from scaleqa.backends import ChatModel, Price
from scaleqa.backends.batchfile import read_answers
from scaleqa.errors import DataError
from scaleqa.evaluate.exported import UNREAD, read_exported
from scaleqa.evaluate.grading import graded
from scaleqa.evaluate.lock import locked
from scaleqa.evaluate.rowfile import read_rows, row_path, write_rows
from scaleqa.evaluate.rows import Row
from scaleqa.judges import Judge, open_judge
from tsim.embed import Embedder


def import_batch(  # noqa: PLR0913  # one argument for each way to read them
    prompts: Path | Sequence[Path],
    answers: Sequence[Path],
    out: Path,
    embedder: Embedder,
    *,
    reader: str | None = None,
    partial: bool = False,
    price: Price | None = None,
    judge_model: ChatModel | None = None,
) -> list[Row]:
    """Makes rows of exported requests and their answers, and returns them.

    Args:
        prompts: The file that was exported, or several; the rows of each of several files go to
            a directory of its name.
        answers: What came back: answers, and failures if they are a file of their own.
        out: Directory for the rows.
        embedder: Compares rationales.
        reader: Who answered; None if the requests or the answers say so.
        partial: Whether questions without an answer are left out rather than refused.
        price: What tokens cost, where known.
        judge_model: A chat model, for questions that one grades.

    Raises:
        DataError: Answers are missing, doubled or of other requests, or `out` holds another run.
    """
    several = [prompts] if isinstance(prompts, Path) else [*prompts]
    places = _places(several, out)
    asked = {
        one.custom_id: (place, one.row)
        for file, place in places.items()
        for one in read_exported(file)
    }
    replies = read_answers(answers, {*asked})
    missing = len(asked) - len(replies)
    if missing and (not partial or not replies):
        raise DataError(
            f"{missing} of {len(asked)} requests have no answer or a failed one; ask for them "
            "again and name that file too, or leave them out with --partial"
        )
    files: dict[Path, list[Row]] = defaultdict(list)
    judges: dict[str, Judge] = {}
    for key, (place, row) in asked.items():
        if key in replies and row.run.reader:
            if row.grader not in judges:
                judges[row.grader] = open_judge(row.grader, judge_model)
            judge, answer = judges[row.grader], replies[key]
            named = f"reader:{reader}" if reader else answer.reader or row.run.reader.backend
            if named == UNREAD:
                raise DataError("the answers do not say who gave them; name them with --reader")
            by = row.run.reader.model_copy(update={"backend": named, "judge": judge.identity})
            asked_by = row.model_copy(update={"run": row.run.model_copy(update={"reader": by})})
            path = row_path(place, row.run.system, row.run.package)
            files[path].append(graded(asked_by, answer.reply, judge, embedder, price=price))
    with locked(out):
        whole = {path: _joined(path, rows) for path, rows in files.items()}
        for path, rows in whole.items():
            write_rows(path, rows)
    return [row for rows in whole.values() for row in rows]


def _places(several: Sequence[Path], out: Path) -> dict[Path, Path]:
    """Says where the rows of each file go: packages of two tracks may have the same name."""
    if len(several) == 1:
        return {several[0]: out}
    places = {file: out / file.stem for file in several}
    if len({*places.values()}) < len(several):
        raise DataError("two files of requests have the same name; import them one by one")
    return places


def _joined(path: Path, rows: Sequence[Row]) -> list[Row]:
    """Adds rows to those of the same run that are there; a question answered again is replaced."""
    there = read_rows(path) if path.exists() else []
    if any(old.run != rows[0].run for old in (*there, *rows)):
        raise DataError(f"{path} holds rows of another run or reader; choose another --out")
    known = {row.id: row for row in (*there, *rows)}
    return sorted(known.values(), key=lambda row: row.place)
