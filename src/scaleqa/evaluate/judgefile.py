"""Judges by file: requests go out in the form of a batch API, verdicts come back as another file.

Requests are computed from the rows alone, so nothing has to be kept between export and import. An
id is a hash of the judge and of what is asked: it names neither the system nor the question. Equal
answers to the same question are asked about once.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scaleqa.backends import Function, Message, Price, Reply
from scaleqa.backends.batchfile import read_answers, request_line, to_lines
from scaleqa.backends.openai import chat_body
from scaleqa.backends.protocol import MOST_TOKENS
from scaleqa.errors import DataError
from scaleqa.evaluate.grading import task_of
from scaleqa.evaluate.judging import Open, opened
from scaleqa.evaluate.rowfile import write_whole
from scaleqa.evaluate.rows import Row
from scaleqa.evaluate.verdicts import judgement, reply_of
from scaleqa.judges import Judge, ModelJudge, Verdict
from scaleqa.judges.model import TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class ByFile:
    """A chat model that answers later, by file."""

    model: str

    @property
    def identity(self) -> str:
        """Names the model."""
        return f"batch:{self.model}"

    def chat(
        self,
        messages: Sequence[Message],
        functions: Sequence[Function] = (),
        *,
        most_tokens: int = MOST_TOKENS,
        response_format: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Cannot be asked at once.

        Raises:
            DataError: Always.
        """
        raise DataError(f"{self.identity} judges by file; see: scaleqa judge --help")

    def close(self) -> None:
        """Holds nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A reply, and what is asked about it; or the verdict, if there is nothing to ask.

    Attributes:
        work: The judge and its verdicts.
        row: The row with the reply.
        key: The id of the request; empty if there is none.
        body: The request.
        verdict: The verdict without a request.
    """

    work: Open
    row: Row
    key: str = ""
    body: dict[str, Any] | None = None
    verdict: Verdict | None = None


def export_requests(directory: Path, judges: Sequence[Judge], model: str, out: Path) -> int:
    """Writes what the judges would ask about replies without a verdict; returns how many requests.

    Args:
        directory: The run, or several of them.
        judges: Judges that ask a model; opened with `ByFile`.
        model: What requests call the model.
        out: The file of requests.

    Raises:
        DataError: The file is there already, a judge asks nobody, or nothing is left to ask.
    """
    if out.exists():
        raise DataError(f"{out} is there already; name a new file, or remove it first")
    _check(judges)
    with opened(directory, judges) as work:
        asked = {
            case.key: case.body
            for case in _cases(work, model)
            if case.body is not None and case.work.file.of(case.row) is None
        }
    if not asked:
        raise DataError("these judges have graded everything, so there is nothing to ask")
    # In the order of their hashes, requests do not tell which of them belong together.
    lines = [request_line(key, body) for key, body in sorted(asked.items()) if body]
    write_whole(out, to_lines(lines))
    return len(lines)


def import_verdicts(
    directory: Path,
    judges: Sequence[Judge],
    model: str,
    answers: Sequence[Path],
    *,
    partial: bool = False,
    price: Price | None = None,
) -> int:
    """Reads what was said about the requests, and keeps it as verdicts; returns how many are new.

    Args:
        directory: The run, or several of them.
        judges: The judges as they were for the export.
        model: What requests call the model.
        answers: What came back; several files count together.
        partial: Whether replies without a verdict are left open rather than refused.
        price: What tokens cost, where known.

    Raises:
        DataError: Answers are missing, doubled or to other requests.
    """
    _check(judges)
    with opened(directory, judges) as work:
        cases = _cases(work, model)
        said = read_answers(answers, {case.key for case in cases if case.key})
        left = [case for case in cases if case.work.file.of(case.row) is None]
        missing = len({case.key for case in left if case.key and case.key not in said})
        if missing and not partial:
            raise DataError(
                f"{missing} requests have no answer or a failed one; ask for them again and name "
                "that file too, or leave them open with --partial"
            )
        new = 0
        told: set[str] = set()
        for case in left:
            answer = said.get(case.key)
            reply = answer.reply if answer else None
            verdict = case.verdict or _heard(case, reply, known=case.key in told)
            told.add(case.key)
            if verdict:
                case.work.file.append(judgement(case.row, verdict, price))
                new += 1
    return new


def _heard(case: Case, said: Reply | None, *, known: bool) -> Verdict | None:
    """Returns the verdict on a case; tokens of a request about several count for the first."""
    if said is None or not isinstance(case.work.judge, ModelJudge):
        return None
    counted = replace(said, prompt_tokens=0, completion_tokens=0, cached=True) if known else said
    return case.work.judge.heard(task_of(case.row), reply_of(case.row), counted)


def _check(judges: Sequence[Judge]) -> None:
    for judge in judges:
        if not isinstance(judge, ModelJudge):
            raise DataError(
                f"{judge.identity} asks nobody, so there is nothing to write; grade with it at "
                "once, without --export and --answers"
            )


def _cases(work: Sequence[Open], model: str) -> list[Case]:
    return [case for one in work for case in _of(one, model)]


def _of(one: Open, model: str) -> Iterator[Case]:
    for row in one.answered:
        if not isinstance(one.judge, ModelJudge):
            continue
        asked = one.judge.request(task_of(row), reply_of(row))
        if isinstance(asked, Verdict):
            yield Case(work=one, row=row, verdict=asked)
            continue
        body = chat_body(model, [Message(role="user", content=asked)], (), TOKENS)
        content = json.dumps([one.judge.identity, body], sort_keys=True)
        key = hashlib.sha256(content.encode()).hexdigest()[:32]
        yield Case(work=one, row=row, key=key, body=body)
