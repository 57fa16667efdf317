"""Records from JSON: one document, or one value a line."""

import json
import re
from collections.abc import Iterable, Iterator

from tsim.errors import InputError
from tsim.logs.fields import seconds_of
from tsim.logs.records import Entry, messages
from tsim.logs.streams import joined

SPACE = re.compile(r"\s*")
# What a line of a stream of events begins with. Only `data` holds JSON.
EVENT = re.compile(rb"\s*(?:(data):\s*(?:\[DONE\]\s*$)?|(?:event|id|retry):|:)")


def parse(text: str) -> object:
    """Parses one JSON value.

    Raises:
        InputError: The text is not JSON, or not JSON that can be read.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refused(text, error) from error


def is_document(text: str) -> bool:
    """Returns whether text that looks like JSON is a document, rather than one value a line.

    Values of several lines, one after another, are a document too.
    """
    start = _start(text, 0)
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        # Damaged somewhere: lines if one of them is an object by itself.
        return text.startswith("[", start) or not any(map(_is_object, text.split("\n")))
    return "\n" in text[start:end] or _start(text, end) == len(text)


def read_document(text: str) -> Iterator[Entry]:
    """Yields the messages of a JSON document, or of several, one after another.

    The conversations of ChatGPT's and Claude's exports are sorted by the time they began; the files
    may have the newest first.

    Raises:
        InputError: The text is not JSON.
    """
    value = _parse_all(text)
    if isinstance(value, list):
        value = _sorted(value)
    yield from _messages(value, "")


def read_lines(lines: Iterable[tuple[int, bytes]]) -> Iterator[Entry]:
    """Yields the messages of JSON lines; blank lines are skipped.

    The lines may be those of a stream of events, as servers send answers piece by piece.
    """
    filled = [(number, line) for number, line in lines if line.strip()]
    if filled and EVENT.match(filled[0][1]):
        filled = [(number, data) for number, line in filled if (data := _data(line))]
    for number, value in joined(_values(filled)):
        if isinstance(value, InputError):
            yield f"line {number}", value
        else:
            yield from _messages(value, f"line {number}")


def _data(line: bytes) -> bytes:
    """Returns what a line of a stream of events holds; nothing if it only describes an event."""
    event = EVENT.match(line)
    if event is None:
        return line
    return line[event.end() :] if event[1] else b""


def _values(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, object]]:
    """Yields the value of each line with its number; an error where it cannot be read."""
    for number, line in lines:
        try:
            yield number, parse(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            yield number, InputError(f"not UTF-8 (byte {error.start} of the line)")
        except InputError as error:
            yield number, error


def _parse_all(text: str) -> object:
    """Parses a document; several values, one after another, become a list.

    Raises:
        InputError: The text is not JSON, or not JSON that can be read.
    """
    values, at = list[object](), _start(text, 0)
    while not values or at < len(text):
        try:
            value, end = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise _refused(text, error) from error
        values.append(value)
        at = _start(text, end)
    return values[0] if len(values) == 1 else values


def _start(text: str, at: int) -> int:
    """Returns the place of the first visible character from a place on."""
    space = SPACE.match(text, at)
    return space.end() if space else at


def _refused(text: str, error: ValueError | RecursionError) -> InputError:
    if not isinstance(error, json.JSONDecodeError):
        return InputError(f"cannot be read ({error})")
    place = f"line {error.lineno}, " if "\n" in text.strip() else ""
    return InputError(f"not JSON ({error.msg} at {place}character {error.colno})")


def _messages(value: object, where: str) -> list[Entry]:
    try:
        return [*messages(value, where)]
    except RecursionError:
        return [(where, InputError("nested too deeply; expected messages or a list of them"))]


def _is_object(line: str) -> bool:
    if not line.lstrip().startswith("{"):
        return False
    try:
        return isinstance(parse(line), dict)
    except InputError:
        return False


def _sorted(values: list[object]) -> list[object]:
    """Sorts the conversations of an export; other values stay as they are."""
    exported = [one for one in values if isinstance(one, dict)]
    if len(exported) == len(values):
        for key, began in (("mapping", "create_time"), ("chat_messages", "created_at")):
            if all(key in one for one in exported):
                return [*sorted(exported, key=lambda one: _began(one.get(began)))]
    return values


def _began(value: object) -> float:
    try:
        return seconds_of(value)
    except InputError:
        return 0.0
