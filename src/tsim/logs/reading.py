"""From the bytes of a log to turns, what was left out, and what could not be read."""

import codecs
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import groupby

from tsim import gzipped
from tsim.errors import InputError
from tsim.logs import archive
from tsim.logs.detect import Format, detect
from tsim.logs.jsonfile import read_document, read_lines
from tsim.logs.message import read_message
from tsim.logs.plain import read_dialogue, read_paragraphs
from tsim.logs.records import Entry
from tsim.logs.repeats import Conversations
from tsim.logs.table import read_table
from tsim.logs.whatsapp import read_chat
from tsim.types import NewTurn

# Bytes that a gzipped log may unpack to.
MOST_BYTES = 1 << 30
TEXTS = {
    Format.JSON: read_document,
    Format.CSV: read_table,
    Format.WHATSAPP: read_chat,
    Format.DIALOGUE: read_dialogue,
    Format.PARAGRAPHS: read_paragraphs,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A message that could not be read.

    Attributes:
        where: The line or item of the log.
        message: What was found and what was expected.
    """

    where: str
    message: str

    def __str__(self) -> str:
        """Returns both in one line."""
        return f"{self.where}: {self.message}" if self.where else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What a log holds.

    Attributes:
        format: The kind of log.
        turns: The turns in order.
        skipped: What is not text, counted by kind.
        problems: The messages that could not be read, in order.
    """

    format: Format
    turns: tuple[NewTurn, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def read_log(data: bytes, *, format: Format | None = None, ids: bool = True) -> Log:
    """Reads a log, plain or gzipped, or the conversations in a zip archive.

    A message that cannot be read is a problem and does not stop the others.

    Args:
        data: The bytes of the log.
        format: The kind of log. By default it is recognised.
        ids: Whether to keep the ids of messages.

    Raises:
        InputError: The log as a whole cannot be read.
    """
    data = _unpacked(data)
    kind = format or detect(_decoded(data, errors="replace"))
    turns: list[NewTurn] = []
    skipped: Counter[str] = Counter()
    problems: list[Problem] = []
    first: dict[str, tuple[str, NewTurn]] = {}
    said_before = Conversations()
    for _, entries in groupby(_entries(data, kind), key=lambda entry: entry[0].partition(",")[0]):
        record: list[NewTurn] = []
        for where, value in entries:
            try:
                if isinstance(value, InputError):
                    raise value
                message = read_message(value)
                some = message.turns if ids else [replace(turn, id=None) for turn in message.turns]
                _require_own_ids(first, where, some)
            except (InputError, RecursionError) as error:
                problems.append(Problem(where=where, message=printable(str(error))))
            else:
                record += some
                skipped.update(message.skipped)
        new = said_before.continued(record)
        turns += new
        skipped["repeated message"] += len(record) - len(new)
    return Log(
        format=kind,
        turns=tuple(turns),
        skipped={printable(name): skipped[name] for name in sorted(skipped) if skipped[name]},
        problems=tuple(problems),
    )


def _entries(data: bytes, kind: Format) -> Iterator[Entry]:
    if kind is Format.JSONL and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return read_lines(enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1))
    text = _decoded(data)
    if kind is Format.JSONL:
        return read_lines(enumerate(text.encode().split(b"\n"), 1))
    return TEXTS[kind](text)


def _require_own_ids(
    first: dict[str, tuple[str, NewTurn]], where: str, turns: list[NewTurn]
) -> None:
    for turn in turns:
        if turn.id is not None:
            before, other = first.setdefault(turn.id, (where, turn))
            if (turn.role, turn.text) != (other.role, other.text):
                raise InputError(
                    f"id {turn.id!r:.80} belongs to another text in {before}; expected an id for "
                    "each message, or none (tsim add --no-ids)"
                )


def _unpacked(data: bytes) -> bytes:
    if data.startswith(archive.MAGIC):
        return archive.conversations(data, most=MOST_BYTES)
    if not data.startswith(gzipped.MAGIC):
        return data
    return gzipped.unpacking(BytesIO(data), most=MOST_BYTES).read()


def printable(text: str) -> str:
    """Returns text that can be written in UTF-8: JSON may hold lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


def _decoded(data: bytes, errors: str = "strict") -> str:
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if utf16 else "utf-8-sig", errors)
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 (byte {error.start}); save the log as UTF-8 and read it again"
        ) from error
    return text.replace("\r\n", "\n")
