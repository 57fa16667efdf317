"""The directory of a desk: one process at a time, and a secret that its links are made from."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scaleqa.errors import DataError
from tsim import private, unfinished

FILE = "secret.txt"
LENGTH = 32


@contextmanager
def held(directory: Path) -> Iterator[Path]:
    """Holds the directory of a desk, which is created if it is missing.

    Raises:
        DataError: Another process serves it, or it is no directory.
    """
    if directory.exists() and not directory.is_dir():
        raise DataError(f"{directory} is no directory; choose another --out")
    handle = os.open(private.make_directory(directory), os.O_RDONLY)
    try:
        with suppress(ImportError):  # systems without file locks
            import fcntl

            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DataError(
                    f"{directory} is being served already; use the links of that process, or stop "
                    "it first"
                ) from None
        yield directory
    finally:
        os.close(handle)


def secret_of(directory: Path) -> bytes:
    """Returns the secret of a desk, made when it is first asked for; links stay valid with it.

    Raises:
        DataError: The file of the secret holds something else.
    """
    file = directory / FILE
    if not file.exists():
        with unfinished.replacing(file) as part:
            part.file.write(secrets.token_hex(LENGTH).encode() + b"\n")
    try:
        found = bytes.fromhex(file.read_bytes().decode().strip())
    except ValueError:
        found = b""
    if len(found) != LENGTH:
        raise DataError(
            f"{file} is not the secret of a desk: expected {2 * LENGTH} hexadecimal digits; remove "
            "it, and new links are made"
        )
    return found
