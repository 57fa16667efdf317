"""What is written in the address or the form of a request, checked."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from urllib.parse import parse_qs

from fastapi import Request

from tsim.errors import InputError, TooLargeError
from tsim.state import MAX_ID

# Characters of a question, and bytes of a form.
MOST_TEXT, MOST_FORM = 10_000, 1 << 20
# Turns that one form may name.
MOST_TURNS = 20_000
# Fields of an address or a form; each turn that is chosen is one.
MOST_FIELDS = 1_000

Values = Mapping[str, Sequence[str]]


class Fields:
    """The fields of an address or a form; those that are empty count as absent."""

    def __init__(self, values: Values) -> None:
        """Takes the values of each name."""
        self._values = {name: [one for one in some if one] for name, some in values.items()}

    @classmethod
    def of(cls, request: Request) -> "Fields":
        """Reads the address of a request."""
        return cls.read(request.url.query)

    @classmethod
    def read(cls, text: str) -> "Fields":
        """Reads fields as addresses and forms have them.

        Raises:
            InputError: They are too many.
        """
        try:
            return cls(parse_qs(text, max_num_fields=MOST_FIELDS))
        except ValueError:
            raise InputError(f"there are more than {MOST_FIELDS:,} fields") from None

    @classmethod
    async def sent(cls, request: Request) -> "Fields":
        """Reads the form that a request sends.

        Raises:
            TooLargeError: It has more than a mebibyte.
        """
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_FORM:
                raise TooLargeError(f"the form has more than {MOST_FORM:,} bytes")
        return cls.read(body.decode("utf-8", "replace"))

    def all(self, name: str) -> list[str]:
        """Returns the values of a field."""
        return list(self._values.get(name, ()))

    def text(self, name: str, default: str = "") -> str:
        """Returns a text.

        Raises:
            InputError: It is too long.
        """
        found = (self.all(name) or [default])[0]
        if len(found) > MOST_TEXT:
            raise InputError(f"{name} has {len(found):,} characters; at most {MOST_TEXT:,}")
        return found

    def whole(self, name: str, default: int | None = None, *, most: int = MAX_ID) -> int | None:
        """Returns a whole number from 0 on.

        Raises:
            InputError: It is something else.
        """
        written = self.text(name).strip()
        if not written:
            return default
        if not (written.isascii() and written.isdigit() and len(written) < 12):
            raise InputError(f"{name} is a whole number, found {written!r:.80}")
        if int(written) > most:
            raise InputError(f"{name} is at most {most:,}, found {int(written):,}")
        return int(written)

    def share(self, name: str) -> float | None:
        """Returns a number from 0 to 1, if there is one.

        Raises:
            InputError: It is something else.
        """
        written = self.text(name).strip()
        if not written:
            return None
        try:
            found = float(written)
        except ValueError:
            found = -1.0
        if not 0 <= found <= 1:
            raise InputError(f"{name} is a number from 0 to 1, found {written!r:.80}")
        return found

    def turns(self, name: str = "turns") -> tuple[int, ...] | None:
        """Returns ids of turns, which may be written as ranges: `3-9,12`.

        Raises:
            InputError: They are something else, or too many.
        """
        written = [part.strip() for one in self.all(name) for part in one.split(",")]
        return _ids(written) if written else None


def ranges(ids: Iterable[int]) -> str:
    """Returns ids as a form has them, ascending: `3-9,12`."""
    grouped = groupby(enumerate(sorted(ids)), lambda pair: pair[1] - pair[0])
    runs = [[turn for _, turn in pairs] for _, pairs in grouped]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _ids(written: Iterable[str]) -> tuple[int, ...]:
    found: set[int] = set()
    for part in written:
        first, dash, last = part.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isascii() and end.isdigit() and len(end) < 12 for end in ends):
            raise InputError(f"turns are written as 3-9,12, found {part!r:.80}")
        low, high = int(ends[0]), int(ends[1])
        if high - low + len(found) >= MOST_TURNS:
            raise InputError(f"these are more than {MOST_TURNS:,} turns; choose fewer at a time")
        found.update(range(low, high + 1))
    return tuple(sorted(found))
