"""The memories of a server, opened when they are asked for."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tsim import unfinished
from tsim.embed import Embedder
from tsim.errors import InputError, MismatchError, ThreadMissingError
from tsim.memory import Memory
from tsim.residency import Residency
from tsim.server.names import FILE, check_namespace
from tsim.server.settings import Settings
from tsim.server.shelves import Shelf, open_shelf

# Memories that stay open while nobody uses them.
OPEN = 64


@dataclass(slots=True)
class _Opened:
    """A memory, or one that is being opened; others are not kept waiting meanwhile."""

    memory: Memory | None = None
    users: int = 0
    opening: threading.Lock = field(default_factory=threading.Lock)


class Namespaces:
    """Opens the memory of a namespace when it is asked for, and closes those long unused."""

    def __init__(
        self,
        settings: Settings,
        embedder: Embedder,
        *,
        shelf: Shelf | None = None,
        most: int = OPEN,
    ) -> None:
        """Opens no memory yet.

        Args:
            settings: Where the memories are, and with which preset they are made.
            embedder: Computes the vectors of all of them.
            shelf: Finds them; by default in the place of the settings.
            most: Memories that stay open while nobody uses them.

        Raises:
            StoreError: Where they are cannot be reached.
        """
        self._settings = settings
        self._only, self._directory = settings.only, settings.directory
        self._shelf = shelf or open_shelf(settings)
        self._embedder = embedder
        self._most = most
        # One bound for the threads of all memories together.
        self.resident = Residency(settings.limits.resident)
        self._guard = threading.Lock()
        self._opened: OrderedDict[str, _Opened] = OrderedDict()

    @property
    def count(self) -> int:
        """Number of memories that are open."""
        return len(self._opened)

    def names(self) -> list[str]:
        """Returns the namespaces that have a memory, sorted."""
        return self._shelf.names()

    def reach(self) -> None:
        """Raises `StoreError` if the memories cannot be reached now."""
        self._shelf.has(self._settings.default)

    @contextmanager
    def using(self, name: str, *, create: bool = False) -> Iterator[Memory]:
        """Yields the memory of a namespace, which stays open meanwhile.

        Args:
            name: The namespace.
            create: Whether to create the memory if there is none yet.

        Raises:
            InputError: It is no name of a namespace.
            ThreadMissingError: It has no memory, so there is no thread in it either.
        """
        self._require(name)
        with self._guard:
            opened = self._opened.setdefault(name, _Opened())
            opened.users += 1
            self._opened.move_to_end(name)
        try:
            with _unplaced(self._shelf.location(name), name):
                yield self._opened_by(name, opened, create)
        finally:
            with self._guard:
                opened.users -= 1
                # Names that were only asked for are not kept.
                if opened.memory is None and not opened.users:
                    del self._opened[name]
            self._close_unused(self._most)

    @contextmanager
    def reading(self, name: str) -> Iterator[Memory]:
        """Yields the memory of a namespace, or an empty one that is removed afterwards.

        Raises:
            InputError: It is no name of a namespace.
            ThreadMissingError: Another memory file is the only one that is served.
        """
        self._require(name)
        if name in self._opened or self._shelf.has(name):
            with self.using(name) as memory:
                yield memory
            return
        with (
            unfinished.scratch(self._directory) as directory,
            Memory.open(directory / f"{name}{FILE}", **self._options(new=True)) as memory,
        ):
            yield memory

    def close(self) -> None:
        """Closes all memories that are not in use, and where they are."""
        self._close_unused(0)
        self._shelf.close()

    def _require(self, name: str) -> None:
        if self._only not in (None, check_namespace(name)):
            raise _missing()

    def _opened_by(self, name: str, opened: _Opened, create: bool) -> Memory:
        with opened.opening:
            if opened.memory is None:
                there = self._shelf.has(name)
                if not (create or there):
                    raise _missing()
                opened.memory = self._shelf.open(name, **self._options(new=not there))
            return opened.memory

    def _options(self, *, new: bool) -> dict[str, Any]:
        return {
            "model": self._embedder,
            "preset": self._settings.preset if new else None,
            "tokens": self._settings.tokens,
            "resident": self.resident,
        }

    def _close_unused(self, most: int) -> None:
        with self._guard:
            unused = [name for name, one in self._opened.items() if not one.users]
            gone = [self._opened.pop(name) for name in unused[: max(0, len(self._opened) - most)]]
        for one in gone:
            if one.memory is not None:
                one.memory.close()


@contextmanager
def _unplaced(location: str, name: str) -> Iterator[None]:
    """Makes errors that clients are told of name the namespace rather than where it is."""
    try:
        yield
    except (InputError, MismatchError) as error:
        if location not in str(error):
            raise
        raise type(error)(str(error).replace(location, name)) from error


def _missing() -> ThreadMissingError:
    return ThreadMissingError("there is no thread yet; adding a turn creates one")
