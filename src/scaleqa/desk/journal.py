"""A journal: one JSON line for each decision, written once, synced, never changed.

An entry has the id of the form that it was made by. Sending a form again, by a second click or
because the answer was lost, finds the entry that is there. What is answered is on disk; of a line
that a crash has torn, nothing was answered.
"""

import os
import re
import secrets
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scaleqa.errors import DataError
from tsim import private

ID = re.compile(r"[0-9a-f]{32}")
TORN = ".torn"


class Entry(BaseModel):
    """What every entry of a journal has.

    Attributes:
        id: The id of the form that it was made by.
        at: When it was written, in UTC.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=f"^{ID.pattern}$")]
    at: str


Line = TypeVar("Line", bound=Entry)


def new_id() -> str:
    """Returns an id for a form."""
    return secrets.token_hex(16)


def now() -> str:
    """Returns the time in UTC, as entries have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Journal(Generic[Line]):
    """The entries of a file, and new ones; for several threads of one process."""

    def __init__(
        self, path: Path, model: type[Line], *, told: Callable[[str], None] = lambda _: None
    ) -> None:
        """Reads the entries that are there; a torn last line is set aside.

        Args:
            path: The file; it is created if it is missing.
            model: What a line is.
            told: Is told of a line that was set aside.

        Raises:
            DataError: A line is not an entry.
        """
        self._path = path
        self._lock = threading.Lock()
        private.create(path)
        content = path.read_bytes()
        ends = content.rfind(b"\n") + 1
        self._entries = _parsed(path, content[:ends], model)
        self._by_id = {entry.id: entry for entry in self._entries}
        if len(self._by_id) != len(self._entries):
            raise DataError(f"{path} has an id twice; put back the file as it was")
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND)
        if content[ends:]:
            aside = _set_aside(path, content[ends:])
            os.ftruncate(self._file, ends)
            os.fsync(self._file)
            told(
                f"the last line of {path.name} was not finished, as after a crash; its "
                f"{len(content) - ends} bytes are in {aside.name} now, and the others are whole"
            )

    @property
    def entries(self) -> tuple[Line, ...]:
        """All entries, the first one first."""
        with self._lock:
            return tuple(self._entries)

    def get(self, name: str) -> Line | None:
        """Returns the entry with an id, if there is one."""
        with self._lock:
            return self._by_id.get(name)

    def append(self, entry: Line, allowed: Callable[[], None] = lambda: None) -> Line:
        """Writes an entry, unless one with its id is there; it is on disk when this returns.

        Args:
            entry: The entry.
            allowed: Raises an error if it may not be written any more; nothing is written between
                this check and the entry. Not asked about an entry that is there.

        Returns:
            The entry that is there, which has another time if it was written before.

        Raises:
            DataError: An entry with this id says something else, or the file cannot be written.
        """
        with self._lock:
            there = self._by_id.get(entry.id)
            if there is not None:
                if there.model_copy(update={"at": entry.at}) != entry:
                    raise DataError(
                        "this form was sent before, with something else in it; what was sent first "
                        "is kept. Go back to the page, load it again, and decide anew"
                    )
                return there
            allowed()
            self._write(entry.model_dump_json().encode() + b"\n")
            self._entries.append(entry)
            self._by_id[entry.id] = entry
            return entry

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)

    def _write(self, line: bytes) -> None:
        before = os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, before)  # the next line must not continue this one
            raise DataError(
                f"the decision was not kept: {self._path.name} cannot be written "
                f"({error.strerror or error}); make room, and send it again"
            ) from error


def read_entries(path: Path, model: type[Line]) -> list[Line]:
    """Reads the entries of a journal that may be in use; a line under way is left out.

    Raises:
        DataError: There is no such file, or a line is not an entry.
    """
    if not path.is_file():
        raise DataError(f"there is no {path.name} in {path.parent}; name the directory of a desk")
    content = path.read_bytes()
    return _parsed(path, content[: content.rfind(b"\n") + 1], model)


def _parsed(path: Path, content: bytes, model: type[Line]) -> list[Line]:
    found = []
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        try:
            found.append(model.model_validate_json(line))
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            where = "".join(f"{part}: " for part in problem["loc"])
            raise DataError(
                f"{path}, line {number}: {where}{problem['msg']}; a journal is only ever added to: "
                "put back the file as it was"
            ) from None
    return found


def _set_aside(path: Path, torn: bytes) -> Path:
    aside = path.with_name(path.name + TORN)
    with private.create(aside).open("ab") as file:
        file.write(torn + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return aside
