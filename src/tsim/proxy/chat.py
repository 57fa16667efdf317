"""A request of the chat API whose messages can be replaced without touching the rest of its bytes.

JSON that is read and written again is not the same: numbers, escapes and spaces change. So messages
are found in the text of the request, and those that are kept stay the characters that came.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tsim.errors import InputError

MESSAGES = "messages"
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A request: its text, its values, and where its messages are in the text.

    Attributes:
        text: The body.
        values: What it says, by name, without the messages.
        messages: The messages.
        places: Where each message is in the text (first, after last).
        listed: Where the list of them is.
    """

    text: str
    values: Mapping[str, Any]
    messages: tuple[Mapping[str, Any], ...]
    places: tuple[tuple[int, int], ...]
    listed: tuple[int, int]

    def raw(self, place: int) -> str:
        """Returns a message as it came."""
        first, end = self.places[place]
        return self.text[first:end]

    def having(self, messages: Sequence[str]) -> bytes:
        """Returns the body with other messages, given as JSON."""
        first, end = self.listed
        return f"{self.text[:first]}[{','.join(messages)}]{self.text[end:]}".encode()


def read_chat(body: bytes) -> Chat:
    """Reads the body of a request.

    Raises:
        InputError: It is no JSON object with a list of messages.
    """
    try:
        text = body.decode()
        return _read(text)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InputError(f"the request cannot be read as a chat: {error}") from error


def _read(text: str) -> Chat:
    values: dict[str, Any] = {}
    messages: list[Any] = []
    places: list[tuple[int, int]] = []
    listed: tuple[int, int] | None = None
    scan = _Scan(text)
    for _ in scan.each("{", "}"):
        name = scan.value()
        scan.expect(":")
        if not isinstance(name, str) or name in values or (name == MESSAGES and listed):
            raise ValueError(f"{name!r:.40} is no name, or occurs twice")
        begin = scan.here()
        if name != MESSAGES:
            values[name] = scan.value()
            continue
        for first in scan.each("[", "]"):
            messages.append(scan.value())
            places.append((first, scan.at))
        listed = (begin, scan.at)
    if listed is None or scan.here() != len(text):
        raise ValueError("expected one object with a list of messages")
    if not all(isinstance(one, dict) for one in messages):
        raise ValueError("expected objects as messages")
    return Chat(
        text=text, values=values, messages=tuple(messages), places=tuple(places), listed=listed
    )


class _Scan:
    """Goes through JSON value by value, and knows where each begins and ends."""

    def __init__(self, text: str) -> None:
        self.at = 0
        self._text = text

    def here(self) -> int:
        """Returns where the next value begins, or the end."""
        found = _SPACE.match(self._text, self.at)
        self.at = found.end() if found else self.at
        return self.at

    def value(self) -> Any:
        """Reads a value."""
        found, self.at = _DECODER.raw_decode(self._text, self.here())
        return found

    def expect(self, mark: str) -> None:
        """Passes a mark."""
        if not self._take(mark):
            raise ValueError(f"expected {mark} at character {self.at}")

    def each(self, opening: str, closing: str) -> Iterator[int]:
        """Yields where each item of a list or object begins, which is then to be read."""
        self.expect(opening)
        if self._take(closing):
            return
        while True:
            yield self.here()
            if self._take(closing):
                return
            self.expect(",")

    def _take(self, mark: str) -> bool:
        there = self._text.startswith(mark, self.here())
        self.at += there
        return there
