"""Requests and replies by file, for people and for models without an API.

A folder has one text per request, `KEY.txt`, and takes one reply beside it, `KEY.json`. A file has
one line per request in the form of OpenAI's batch API, and takes what the provider gives back, or
lines of `{"id": KEY, "reply": {…}}`. Keys tell nothing, and readers' requests hold no answer.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from scaleqa.backends import Message, Reply
from scaleqa.backends.batchfile import read_answers, request_line, text_lines, to_lines
from scaleqa.backends.openai import chat_body
from scaleqa.construct.book import Refused, Ticket
from scaleqa.construct.receipts import Replied
from scaleqa.construct.site import Site
from scaleqa.construct.work import asked
from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import write_whole

MOST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of replies.

    Attributes:
        taken: How many were new.
        refused: Those of them that were not accepted.
    """

    taken: int
    refused: tuple[Refused, ...]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str
    reply: JsonValue


def due(site: Site, stage: str | None) -> list[Ticket]:
    """Returns the requests that wait for a reply, of all kinds or of one.

    Raises:
        DataError: There is no such kind of request.
    """
    kinds = [ask.name for step in site.book.track.steps for ask in step.asks]
    if stage is not None and stage not in kinds:
        raise DataError(f"no stage {stage!r}; there are {', '.join(kinds)}")
    step = site.settle()
    found = site.book.due(step) if step else []
    return [ticket for ticket in found if stage in (None, ticket.ask.name)]


def export_folder(site: Site, tickets: Sequence[Ticket], folder: Path) -> list[Path]:
    """Writes one text per request; returns the files.

    Raises:
        DataError: Something else is in the folder.
    """
    keys = {ticket.key for ticket in tickets}
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is no directory; choose another --to")
    alien = [p.name for p in folder.glob("*.txt") if p.stem not in keys] if folder.exists() else []
    if alien:
        raise DataError(
            f"{folder} has requests of another export ({sorted(alien)[0]}); choose another --to"
        )
    _receipts(site, tickets)
    paths = []
    for ticket in tickets:
        path = folder / f"{ticket.key}.txt"
        write_whole(path, f"{ticket.prompt.text.rstrip()}\n".encode())
        paths.append(path)
    return paths


def export_file(site: Site, tickets: Sequence[Ticket], file: Path) -> None:
    """Writes requests in the form of OpenAI's batch API.

    Raises:
        DataError: The file is there already.
    """
    if file.exists():
        raise DataError(f"{file} is there already; name a new file, or remove it first")
    _receipts(site, tickets)
    models, lines = site.book.plan.models, []
    for ticket in tickets:
        messages = [Message(role="user", content=ticket.prompt.text)]
        name = models.spec(ticket.ask.who).partition(":")[2].partition("@")[0] or "model"
        body = chat_body(name, messages, (), models.most_tokens)
        lines.append(request_line(ticket.key, body))
    write_whole(file, to_lines(lines))


def _receipts(site: Site, tickets: Sequence[Ticket]) -> None:
    """Notes what is exported for the first time."""
    fresh = [ticket for ticket in tickets if ticket.key not in site.book.asked]
    if fresh:
        site.add(*(asked(site, ticket) for ticket in fresh))


def import_replies(site: Site, paths: Sequence[Path], by: str | None = None) -> Imported:
    """Takes replies, and decides what can be decided then.

    All of them are read before one is kept. A reply that is there already is not taken again; a
    different one to the same request is refused.

    Args:
        site: The construction.
        paths: Folders of replies, and files of lines.
        by: Who replied; the model of the plan by default.

    Raises:
        DataError: A reply cannot be read, or belongs to no request.
    """
    found: dict[str, Reply] = {}
    for path in paths:
        for key, reply in _read(path, {*site.book.asked}):
            if found.setdefault(key, reply) != reply:
                raise DataError(f"{path}: there are two replies to {key}")
    fresh = []
    for key, reply in found.items():
        known = site.book.replies.get(key)
        if known and known.text != reply.text:
            raise DataError(
                f"{key} was replied to before, with something else; it is decided: "
                "what is asked anew has another key, see: scaleqa construct export"
            )
        if not known:
            request = site.book.asked[key]
            fresh.append(
                Replied(
                    at=site.at,
                    key=key,
                    by=by or request.model,
                    text=reply.text,
                    prompt_tokens=reply.prompt_tokens,
                    completion_tokens=reply.completion_tokens,
                )
            )
    if fresh:
        site.add(*fresh)
    refused = site.book.refused(reply.key for reply in fresh)
    site.settle()
    return Imported(taken=len(fresh), refused=tuple(refused))


def _read(path: Path, known: set[str]) -> Iterator[tuple[str, Reply]]:
    if not path.is_dir():
        yield from _from_lines(path, known).items()
        return
    files = sorted(file for file in path.iterdir() if file.suffix == ".json")
    if not files:
        raise DataError(f"{path} has no replies; they are expected as KEY.json beside KEY.txt")
    for file in files:
        if file.stem not in known:
            raise DataError(f"{file} replies to {file.stem!r}, which was not asked")
        yield file.stem, Reply(text=_text(file))


def _from_lines(path: Path, known: set[str]) -> Mapping[str, Reply]:
    lines = text_lines(path)
    if not lines or '"custom_id"' in lines[0]:
        return {key: answer.reply for key, answer in read_answers([path], known).items()}
    replies: dict[str, Reply] = {}
    for number, text in enumerate(lines, 1):
        try:
            line = _Line.model_validate_json(text)
        except ValidationError:
            raise DataError(
                f'{path}, line {number} is no reply: expected {{"id": KEY, "reply": {{…}}}}'
            ) from None
        if line.id not in known:
            raise DataError(f"{path}, line {number} replies to {line.id!r}, which was not asked")
        if line.id in replies:
            raise DataError(f"{path}, line {number} replies to {line.id!r} a second time")
        said = line.reply
        replies[line.id] = Reply(
            text=said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        )
    return replies


def _text(file: Path) -> str:
    if file.stat().st_size > MOST_BYTES:
        raise DataError(f"{file} is larger than a reply can be")
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not UTF-8 (byte {error.start})") from None
