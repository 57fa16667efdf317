"""Gzipped files of others, which unpack to no more than may be expected.

A few kilobytes can unpack to gigabytes. Whoever expects that many unpacks the file beforehand.
"""

import gzip
import io
import zlib
from typing import BinaryIO

from tsim.errors import InputError

MAGIC = b"\x1f\x8b"
BUFFER = 1 << 20


def unpacking(packed: BinaryIO, *, most: int) -> io.BufferedReader:
    """Returns a gzipped file as a stream of what it unpacks to, which may be read once.

    Args:
        packed: The file.
        most: How many bytes it may unpack to.

    Raises:
        InputError: While it is read: it is damaged or incomplete, or unpacks to more.
    """
    return io.BufferedReader(_Bounded(packed, most), BUFFER)


class _Bounded(io.RawIOBase):
    def __init__(self, packed: BinaryIO, most: int) -> None:
        self._packed = packed
        self._file = gzip.GzipFile(fileobj=packed)
        self._most = self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # never another one
        try:
            some = self._file.read(len(buffer))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(f"the gzip file is damaged or incomplete ({error})") from error
        self._left -= len(some)
        if self._left < 0:
            raise InputError(
                f"the gzip file unpacks to more than {self._most:,} bytes; if that is what you "
                "expect, unpack it and pass the file inside"
            )
        buffer[: len(some)] = some
        return len(some)

    def close(self) -> None:
        self._packed.close()
        super().close()
