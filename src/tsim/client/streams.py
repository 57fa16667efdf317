"""Files that come from a server: whether all of it came, and where it goes."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from tsim import unfinished, wire
from tsim.errors import InputError, RemoteError

# Bytes that are read or sent at a time.
PIECE = 1 << 18
# Bytes of the longest line of an export that can be imported.
LONGEST = 1 << 26
# Of the header of a SQLite file: its first bytes, and where the sizes of it are.
SQLITE = b"SQLite format 3\0"
HEADER = 32


class Receiver(Protocol):
    """Looks at what comes, and says in the end whether it was all."""

    def take(self, piece: bytes) -> None:
        """Looks at the next bytes."""
        ...

    def end(self) -> None:
        """Raises `RemoteError` if something is missing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    lines: int
    sha256: str


class ExportReceiver:
    """Compares an export with the number and the hash of lines at its end.

    Attributes:
        turns: Number of turns so far.
    """

    def __init__(self) -> None:
        """Begins with nothing."""
        self.turns = 0
        self._lines = 0
        self._digest = hashlib.sha256()
        self._pieces: list[bytes] = []
        self._size = 0
        self._last: bytes | None = None

    def take(self, piece: bytes) -> None:
        """Looks at the next bytes."""
        *whole, rest = piece.split(b"\n")
        for one in whole:
            self._take_line(b"".join([*self._pieces, one, b"\n"]))
            self._pieces, self._size = [], 0
        self._pieces.append(rest)
        self._size += len(rest)
        if self._size > LONGEST:
            raise _damaged("it has a line that is too long")

    def end(self) -> None:
        """Raises `RemoteError` if something is missing or has changed."""
        try:
            found: _End = wire.load(_End, self._last or b"")
        except ValueError:
            raise _damaged("its end is missing") from None
        if self._size or (found.lines, found.sha256) != (self._lines, self._digest.hexdigest()):
            raise _damaged("its lines are not those that its end describes")

    def _take_line(self, line: bytes) -> None:
        if self._last is not None:
            self._digest.update(self._last)
            self._lines += 1
        self._last = line
        try:
            self.turns += wire.load(_Line, line).kind == "turn"
        except ValueError:
            raise _damaged(f"line {self._lines + 1} is no line of an export") from None


class BackupReceiver:
    """Compares the size of a SQLite file with the one in its header."""

    def __init__(self) -> None:
        """Begins with nothing."""
        self._header = b""
        self._size = 0

    def take(self, piece: bytes) -> None:
        """Looks at the next bytes."""
        if len(self._header) < HEADER:
            self._header += piece[: HEADER - len(self._header)]
        self._size += len(piece)

    def end(self) -> None:
        """Raises `RemoteError` if it is another file, or not all of it."""
        header = self._header
        page = int.from_bytes(header[16:18]) or 1
        expected = (1 << 16 if page == 1 else page) * int.from_bytes(header[28:32])
        if not header.startswith(SQLITE):
            raise RemoteError("the server sent something else than a memory file; try again")
        if self._size != expected:
            raise RemoteError(
                f"the server sent {self._size} bytes of a memory file of {expected}; try again"
            )


@contextmanager
def receiving(target: Path | BinaryIO) -> Iterator[BinaryIO]:
    """Opens what a file from a server is written to; a file is complete or absent.

    Raises:
        InputError: It cannot be written.
    """
    if not isinstance(target, Path):
        yield target
        return
    try:
        with unfinished.writing(target) as out:
            yield out
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from error


@contextmanager
def sending(source: Path | BinaryIO) -> Iterator[Callable[[], bytes]]:
    """Opens what is sent to a server; yields a function that returns its next bytes.

    Raises:
        InputError: It cannot be read.
    """
    try:
        if isinstance(source, Path):
            with source.open("rb") as file:
                yield lambda: file.read(PIECE)
        else:
            first = [_binary(source.read(PIECE))]  # before anybody is asked to receive it
            yield lambda: first.pop() if first else _binary(source.read(PIECE))
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from error


def _binary(piece: object) -> bytes:
    if not isinstance(piece, bytes):
        raise InputError("the stream has text; pass a binary one, such as sys.stdin.buffer")
    return piece


def _damaged(why: str) -> RemoteError:
    return RemoteError(f"the server did not send a whole export: {why}; try again")
