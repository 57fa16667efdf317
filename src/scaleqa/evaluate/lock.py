"""One run at a time in a directory."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scaleqa.errors import DataError
from tsim import private


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Holds a directory of rows, which is created if it is missing.

    The lock is the directory's own, so nothing has to be cleaned up: it ends with its process,
    however that ends.

    Raises:
        DataError: Another run holds it, or it is no directory.
    """
    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is no directory; choose another --out")
    held = os.open(private.make_directory(out), os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(
                f"another run is writing to {out}; wait until it ends, or choose another --out"
            ) from None
        yield
    finally:
        os.close(held)
