"""Records from JSON: one document, or one value a line."""

import json
from collections.abc import Iterator

from tsim.errors import InputError
from tsim.logs.records import Entry, messages


def parse(text: str) -> object:
    """Parses one JSON value.

    Raises:
        InputError: The text is not JSON, or not JSON that can be read.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, " if "\n" in text.strip() else ""
        raise InputError(f"not JSON ({error.msg} at {place}character {error.colno})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"cannot be read ({error})") from error


def is_document(text: str) -> bool:
    """Returns whether text that looks like JSON is one value, rather than one value a line."""
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        # Damaged somewhere: lines if one of them is an object by itself.
        return text.lstrip().startswith("[") or not any(map(_is_object, text.split("\n")))
    return not text.lstrip()[end:].strip()


def read_document(text: str) -> Iterator[Entry]:
    """Yields the messages of one JSON document.

    The conversations of ChatGPT's export are sorted by the time they began; the file has the newest
    first.

    Raises:
        InputError: The text is not JSON.
    """
    value = parse(text)
    if isinstance(value, list) and all(isinstance(one, dict) and "mapping" in one for one in value):
        value = sorted(value, key=_began)
    yield from _messages(value, "")


def read_lines(lines: Iterator[tuple[int, bytes]]) -> Iterator[Entry]:
    """Yields the messages of JSON lines; blank lines are skipped."""
    for number, line in lines:
        if line.strip():
            where = f"line {number}"
            try:
                value = parse(line.decode("utf-8"))
            except UnicodeDecodeError as error:
                yield where, InputError(f"not UTF-8 (byte {error.start} of the line)")
            except InputError as error:
                yield where, error
            else:
                yield from _messages(value, where)


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


def _began(conversation: dict[str, object]) -> float:
    began = conversation.get("create_time")
    return float(began) if isinstance(began, int | float) else 0.0
