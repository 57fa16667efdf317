"""Files of requests and answers in the form of OpenAI's batch API, one JSON object per line."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from scaleqa.backends.openai import Completion
from scaleqa.backends.protocol import MOST_TOKENS, Reply
from scaleqa.errors import DataError

URL = "/v1/chat/completions"


class _Response(BaseModel):
    status_code: int = 200
    body: Any = None


class _Line(BaseModel):
    custom_id: str
    response: _Response | None = None
    error: Any = None
    reader: str | None = None

    @property
    def failed(self) -> bool:
        return bool(self.error) or self.response is None or self.response.status_code != 200


class _Message(BaseModel):
    content: str


class _Body(BaseModel):
    messages: list[_Message]
    max_tokens: int = MOST_TOKENS


class _Request(BaseModel):
    custom_id: str
    body: _Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it was written.

    Attributes:
        prompt: The prompt.
        most_tokens: Maximum tokens of the reply.
    """

    prompt: str
    most_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer as it came back.

    Attributes:
        reply: What was answered.
        reader: Who answered, where the answer says so.
    """

    reply: Reply
    reader: str | None = None


def request_line(key: str, body: dict[str, Any]) -> dict[str, Any]:
    """Returns the line of a request.

    Args:
        key: What the answer will be called.
        body: The request, as it would be posted.
    """
    return {"custom_id": key, "method": "POST", "url": URL, "body": body}


def answer_line(key: str, reply: Reply, reader: str | None = None) -> dict[str, Any]:
    """Returns the line of an answer.

    Args:
        key: What the request is called.
        reply: The answer.
        reader: Who gave it, if that is known.
    """
    body: dict[str, Any] = {"choices": [{"message": {"content": reply.text}}]}
    if reply.prompt_tokens or reply.completion_tokens:
        body["usage"] = {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
        }
    line: dict[str, Any] = {"custom_id": key, "response": {"status_code": 200, "body": body}}
    return {**line, "reader": reader} if reader else line


def to_lines(values: Iterable[dict[str, Any]]) -> bytes:
    """Writes objects as lines, the same bytes for the same values."""
    return "".join(
        json.dumps(value, ensure_ascii=False, sort_keys=True) + "\n" for value in values
    ).encode()


def text_lines(path: Path) -> list[str]:
    """Reads the lines of a file that are not empty.

    Raises:
        DataError: It is missing or no text.
    """
    try:
        return [line for line in path.read_text("utf-8").split("\n") if line.strip()]
    except FileNotFoundError:
        raise DataError(f"{path} is missing; it is what the provider gives back") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as lines of JSON: {error}") from None


def read_requests(path: Path) -> Mapping[str, Asked]:
    """Reads requests for answers: those of one message.

    Raises:
        DataError: The file is missing, or a line is no such request.
    """
    found: dict[str, Asked] = {}
    for number, text in enumerate(text_lines(path), 1):
        try:
            line = _Request.model_validate_json(text)
            (message,) = line.body.messages
        except (ValidationError, ValueError) as error:
            raise DataError(
                f"{path}, line {number} is no request for an answer: {text[:200]!r}; name a file "
                "written by: scaleqa batch export"
            ) from error
        found[line.custom_id] = Asked(prompt=message.content, most_tokens=line.body.max_tokens)
    return found


def read_answers(paths: Sequence[Path], known: set[str]) -> Mapping[str, Answer]:
    """Reads what a provider gave back, without what failed or says nothing.

    Args:
        paths: The files.
        known: The keys that were asked.

    Raises:
        DataError: A line is no answer, or one to another request, or the second one.
    """
    replies: dict[str, Answer] = {}
    for path in paths:
        for number, text in enumerate(text_lines(path), 1):
            try:
                line = _Line.model_validate_json(text)
                answer = None if line.failed else _said(line)
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
                replies[line.custom_id] = Answer(reply=answer, reader=line.reader)
    return replies


def _said(line: _Line) -> Reply | None:
    """Returns what was answered; None for silence, which is a failure as it is in a run."""
    found = Completion.model_validate(line.response.body if line.response else None)
    return None if found.silent else found.reply
