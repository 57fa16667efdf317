"""A live reader: somebody who is asked one question at a time, and answers while a run waits.

The run puts its question into a directory, where `scaleqa batch read` shows it and takes the
answer. An interrupted run that continues finds the answers that came meanwhile.
"""

import hashlib
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from scaleqa.backends.declaration import Access, BackendDeclaration
from scaleqa.backends.itemdir import ABOUT, Item, ItemDirectory
from scaleqa.backends.protocol import Reply, Request
from scaleqa.backends.stop import Stop
from scaleqa.errors import DataError

# Seconds between two looks for an answer.
LOOK = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderOptions:
    """Who reads."""

    name: Annotated[
        str, Field(min_length=1, description="Who answers, as rows shall say; runs share it.")
    ] = "live"


class LiveReader:
    """Asks whoever reads a directory, and waits for the answer."""

    stand_in = False

    def __init__(self, path: Path, name: str, stop: Stop) -> None:
        """Opens the directory, which is made if it is missing.

        Raises:
            DataError: It holds something else, or another run asks there.
        """
        self.identity = f"reader:{name}"
        self._stop = stop
        self._one = threading.Lock()
        self._held = ExitStack()
        self._items = _opened(path)
        self._held.enter_context(self._items.asking())
        self._items.finish(ended=False)
        self._waiting = False

    def reply(self, request: Request) -> Reply:
        """Shows one request, and waits until it is answered or the run is stopped."""
        key = hashlib.sha256(request.prompt.encode()).hexdigest()[:24]
        with self._one:
            if key not in {item.custom_id for item in self._items.items}:
                letters = "".join(request.options) if request.options else None
                self._items.add(Item(custom_id=key, prompt=request.prompt, letters=letters))
            self._waiting = True
            while (found := self._items.answered.get(key)) is None:
                self._stop.sleep(LOOK)
            self._waiting = False
        return found

    def close(self) -> None:
        """Tells the reader that nothing more comes, unless an answer is still awaited."""
        self._items.finish(ended=not self._waiting)
        self._held.close()


def _opened(path: Path) -> ItemDirectory:
    if not (path / ABOUT).exists():
        if path.exists() and any(path.iterdir()):
            raise DataError(f"{path} holds something else; name a new directory for the reader")
        return ItemDirectory.create(path, live=True)
    found = ItemDirectory(path)
    if not found.about.live:
        raise DataError(f"{path} is a shard of a batch; name a new directory for the reader")
    return found


def _make(subject: str, options: ReaderOptions, access: Access) -> LiveReader:
    return LiveReader(Path(subject), options.name, access.stop)


BACKEND = BackendDeclaration(
    name="reader",
    summary="Somebody who reads and answers while the run waits; see scaleqa batch read.",
    example="reader:reading/tsim,name=blind-reader",
    options=ReaderOptions,
    make=_make,
    subject="DIRECTORY",
    caches=False,
)
