"""Directories of items that a reader answers one by one.

A directory has the items and, in the form of a batch's output, the answers. It has nothing that
tells where an item comes from. Both files only grow, a line at a time, and a line that a crash has
torn does not count. In a live directory, whoever asks adds the next item when the last one is
answered.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from scaleqa.backends.batchfile import answer_line, to_lines
from scaleqa.backends.openai import Completion
from scaleqa.backends.protocol import Reply
from scaleqa.errors import DataError
from tsim import private, unfinished

ABOUT = "shard.json"
ITEMS = "items.jsonl"
ANSWERS = "answers.jsonl"
CONTEXT = "context.txt"
SHOWN = "shown"
FINISHED = "finished"
PartT = TypeVar("PartT", bound=BaseModel)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class About(_Part):
    """What a directory is."""

    version: int = 1
    live: bool = False
    """Whether items are added while others are answered."""


class Item(_Part):
    """A request as a reader sees it."""

    custom_id: str
    prompt: str
    """The prompt; its part after the context, where the directory has one for all items."""
    letters: str | None = None
    """The letters to choose from; None for free text."""


class _Body(_Part):
    body: Completion


class _Answered(_Part):
    custom_id: str
    response: _Body


class ItemDirectory:
    """The items and answers of one reader."""

    def __init__(self, path: Path) -> None:
        """Opens a directory.

        Raises:
            DataError: It is none of ours.
        """
        self.path = path
        try:
            self.about = About.model_validate_json((path / ABOUT).read_bytes())
        except (OSError, ValidationError):
            raise DataError(
                f"{path} is no directory of items; make some with: scaleqa batch shard, or "
                "scaleqa run --backend reader:DIRECTORY"
            ) from None

    @classmethod
    def create(
        cls, path: Path, items: Sequence[Item] = (), *, context: str | None = None, live: bool
    ) -> "ItemDirectory":
        """Makes a directory, which is complete once it can be opened.

        Args:
            path: Where.
            items: The items, in the order in which they are shown.
            context: What all their prompts begin with, and is shown once.
            live: Whether items will be added.
        """
        private.make_directory(path)
        _write(path / ITEMS, to_lines(item.model_dump(exclude_none=True) for item in items))
        if context is not None:
            _write(path / CONTEXT, context.encode())
        about = About(live=live).model_dump()
        _write(path / ABOUT, (json.dumps(about) + "\n").encode())
        return cls(path)

    def held(self) -> AbstractContextManager[None]:
        """Keeps other processes from answering the same items.

        Raises:
            DataError: One of them is at it.
        """
        said = f"somebody else is reading {self.path}; one reader has one directory"
        return held(self.path / ABOUT, said)

    def asking(self) -> AbstractContextManager[None]:
        """Keeps other processes from adding items.

        Raises:
            DataError: One of them does.
        """
        return held(self.path / ITEMS, f"another run asks the reader of {self.path}; name another")

    @property
    def items(self) -> list[Item]:
        """All items so far."""
        return self._lines(ITEMS, Item)

    @property
    def answered(self) -> dict[str, Reply]:
        """The answers so far, by key."""
        lines = self._lines(ANSWERS, _Answered)
        return {one.custom_id: one.response.body.reply for one in lines}

    @property
    def context(self) -> str | None:
        """What the prompts of all items begin with, if they have that in common."""
        path = self.path / CONTEXT
        return path.read_text("utf-8") if path.exists() else None

    @property
    def finished(self) -> bool:
        """Whether no item will be added."""
        return not self.about.live or (self.path / FINISHED).exists()

    @property
    def shown(self) -> str | None:
        """The key of the item that was shown last."""
        path = self.path / SHOWN
        return path.read_text("utf-8") if path.exists() else None

    def show(self, item: Item) -> None:
        """Notes that an item was shown: it is the one that may be answered."""
        _write(self.path / SHOWN, item.custom_id.encode())

    def answer(self, item: Item, text: str) -> None:
        """Keeps an answer; it is on disk when this returns."""
        line = answer_line(item.custom_id, Reply(text=text))
        append_line(self.path / ANSWERS, line)

    def add(self, item: Item) -> None:
        """Adds an item; it is on disk when this returns."""
        append_line(self.path / ITEMS, item.model_dump(exclude_none=True))

    def finish(self, *, ended: bool) -> None:
        """Says whether more items will come."""
        if ended:
            _write(self.path / FINISHED, b"")
        else:
            (self.path / FINISHED).unlink(missing_ok=True)

    def _lines(self, name: str, kind: type[PartT]) -> list[PartT]:
        path = self.path / name
        if not path.exists():
            return []
        found = []
        for number, line in enumerate(whole_lines(path), 1):
            try:
                found.append(kind.model_validate_json(line))
            except ValidationError as error:
                raise DataError(f"{path}, line {number} is damaged: {line[:80]!r}") from error
        return found


@contextmanager
def held(path: Path, said: str) -> Iterator[None]:
    """Locks a file until the end, however the process ends.

    Raises:
        DataError: Another process has it; the message is `said`.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(said) from None
        yield
    finally:
        os.close(handle)


def whole_lines(path: Path) -> list[bytes]:
    """Reads the lines of a file without one that a crash has torn."""
    return _whole(path.read_bytes()).split(b"\n")[:-1]


def mend(path: Path) -> None:
    """Removes a line that a crash has torn."""
    content = path.read_bytes()
    whole = _whole(content)
    if len(whole) < len(content):
        os.truncate(path, len(whole))


def append_line(path: Path, value: dict[str, Any]) -> None:
    """Writes a line after the last whole one; it is on disk when this returns."""
    mend(private.create(path))
    with path.open("ab") as file:
        file.write(to_lines([value]))
        file.flush()
        os.fsync(file.fileno())


def _whole(content: bytes) -> bytes:
    return content[: content.rfind(b"\n") + 1]


def _write(path: Path, content: bytes) -> None:
    with unfinished.replacing(path) as part:
        part.file.write(content)
