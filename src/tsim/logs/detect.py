"""What kind of log a file is. The same bytes are always the same kind."""

import re
from enum import StrEnum

from tsim.logs.jsonfile import is_document
from tsim.logs.plain import speakers
from tsim.logs.table import separator
from tsim.logs.whatsapp import is_chat

JSON_START = re.compile(r'\s*(?:\{\s*(?:["}]|$)|\[\s*(?:["{\[\]]|$))')

# Events that a server sends, saved as they came.
STREAM_START = re.compile(r"\s*(?:event: ?[\w.]+\r?\n)?data: ?[{\[]")


class Format(StrEnum):
    """The kinds of logs, as `--format` takes them.

    JSON and JSON lines hold messages, bodies, ShareGPT or ChatGPT conversations; every record is
    recognised by its keys.
    """

    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    WHATSAPP = "whatsapp"
    DIALOGUE = "dialogue"
    PARAGRAPHS = "paragraphs"


def detect(text: str) -> Format:
    """Returns the kind of a log."""
    if not text.strip():
        return Format.JSONL
    if is_chat(text):
        return Format.WHATSAPP
    if STREAM_START.match(text):
        return Format.JSONL
    if JSON_START.match(text):
        return Format.JSON if is_document(text) else Format.JSONL
    if separator(text):
        return Format.CSV
    return Format.DIALOGUE if speakers(text) else Format.PARAGRAPHS
