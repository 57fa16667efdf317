"""Puts a field into the first JSON object of an answer, while it passes by."""

import re

from tsim.proxy.headers import Raw

# The first object of a body, or of the first event of a stream, that has a name in it. Whatever
# does not begin so is passed on as it is.
BODY = re.compile(rb'\s*\{(?=\s*")')
EVENT = re.compile(rb'(?::[^\r\n]*[\r\n]+|[\r\n]+)*data:\s*\{(?=\s*")')


class Insertion:
    """A field on its way into an answer."""

    def __init__(self, field: bytes, *, streamed: bool) -> None:
        """Waits for the first piece.

        Args:
            field: The field with its name, and a comma behind it.
            streamed: Whether the answer is a stream of events.
        """
        self._field = field
        self._beginning = EVENT if streamed else BODY
        self._begun = False

    def headers(self, headers: Raw) -> Raw:
        """Returns the headers of the longer answer: its end is found by the end of its chunks."""
        return [one for one in headers if one[0].lower() != b"content-length"]

    def piece(self, piece: bytes) -> bytes:
        """Returns a piece, the first one with the field in it."""
        if self._begun or not piece:
            return piece
        self._begun = True
        found = self._beginning.match(piece)
        if found is None:
            return piece
        return piece[: found.end()] + self._field + piece[found.end() :]
