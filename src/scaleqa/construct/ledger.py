"""The file of receipts: lines are only ever added, and on disk before anybody acts on them."""

import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from scaleqa.construct.receipts import RECEIPT, VERSION, Begun, Receipt
from scaleqa.errors import DataError
from tsim import private


def read_receipts(path: Path) -> list[Receipt]:
    """Reads receipts; a last line without its end was never acted on and is left out.

    Raises:
        DataError: A line is no receipt.
    """
    return _read(path)[0]


def _read(path: Path) -> tuple[list[Receipt], int]:
    """Returns the receipts, and how many bytes they take."""
    found: list[Receipt] = []
    size = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                found.append(RECEIPT.validate_json(line))
            except ValidationError as error:
                problem = error.errors(include_url=False)[0]
                raise DataError(
                    f"{path}, line {number} is no receipt of a construction ({problem['msg']}); "
                    "restore the file, or begin in another directory"
                ) from None
            size += len(line)
    first = found[0] if found else None
    if found and not isinstance(first, Begun):
        raise DataError(f"{path} does not begin with a plan; restore the file")
    if isinstance(first, Begun) and first.version != VERSION:
        raise DataError(
            f"{path} has version {first.version}, and this scaleqa reads version {VERSION}; use "
            "the scaleqa that wrote it"
        )
    return found, size


class Ledger:
    """The receipts of one construction, and the file they are added to."""

    def __init__(self, path: Path) -> None:
        """Reads what is there; nothing is written before something is added."""
        self.path = path
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self.receipts, self._size = _read(path) if path.exists() else ([], 0)

    def add(self, *receipts: Receipt) -> None:
        """Writes receipts; they are on disk when this returns."""
        with self._lock:
            file = self._open()
            file.write(_lines(receipts))
            file.flush()
            os.fsync(file.fileno())
            self.receipts.extend(receipts)

    def close(self) -> None:
        """Closes the file."""
        if self._file:
            self._file.close()
            self._file = None

    def _open(self) -> BinaryIO:
        if self._file is None:
            self._file = private.create(self.path).open("r+b")
            # What a crash left of a line would spoil the next one.
            self._file.truncate(self._size)
            self._file.seek(self._size)
        return self._file


def _lines(receipts: Iterable[Receipt]) -> bytes:
    return b"".join(
        RECEIPT.dump_json(receipt, exclude_defaults=False) + b"\n" for receipt in receipts
    )
