"""The memories of a server: one file for each namespace, so that none can reach into another."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tsim import unfinished
from tsim.embed import Embedder
from tsim.errors import InputError, MismatchError, ThreadMissingError
from tsim.memory import Memory
from tsim.residency import Residency
from tsim.server.names import FILE, check_namespace
from tsim.server.settings import Settings

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

    def __init__(self, settings: Settings, embedder: Embedder, *, most: int = OPEN) -> None:
        """Opens nothing yet.

        Args:
            settings: Where the memories are, and with which preset they are made.
            embedder: Computes the vectors of all of them.
            most: Memories that stay open while nobody uses them.
        """
        self._settings = settings
        # Asked for once: to tell a directory from a file takes a look at the disk.
        self._only, self._directory = settings.only, settings.directory
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
        if self._only is not None:
            return [self._only] if self._settings.place.is_file() else []
        found = self._directory.glob(f"*{FILE}")
        return sorted(path.stem for path in found if path.is_file())

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
        path = self._path(name)
        with self._guard:
            opened = self._opened.setdefault(name, _Opened())
            opened.users += 1
            self._opened.move_to_end(name)
        try:
            with _unplaced(path, name):
                yield self._opened_at(path, opened, create)
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
        path = self._path(name)
        if path.is_file():
            with self.using(name) as memory:
                yield memory
            return
        with (
            unfinished.scratch(self._directory) as directory,
            self._open(directory / path.name) as memory,
        ):
            yield memory

    def close(self) -> None:
        """Closes all memories that are not in use."""
        self._close_unused(0)

    def _path(self, name: str) -> Path:
        if self._only not in (None, check_namespace(name)):
            raise _missing()
        return self._directory / f"{name}{FILE}"

    def _opened_at(self, path: Path, opened: _Opened, create: bool) -> Memory:
        with opened.opening:
            if opened.memory is None:
                if not (create or path.is_file()):
                    raise _missing()
                opened.memory = self._open(path)
            return opened.memory

    def _open(self, path: Path) -> Memory:
        return Memory.open(
            path,
            model=self._embedder,
            preset=None if path.is_file() else self._settings.preset,
            tokens=self._settings.tokens,
            resident=self.resident,
        )

    def _close_unused(self, most: int) -> None:
        with self._guard:
            unused = [name for name, one in self._opened.items() if not one.users]
            gone = [self._opened.pop(name) for name in unused[: max(0, len(self._opened) - most)]]
        for one in gone:
            if one.memory is not None:
                one.memory.close()


@contextmanager
def _unplaced(path: Path, name: str) -> Iterator[None]:
    """Makes errors that clients are told of name the namespace rather than its file."""
    try:
        yield
    except (InputError, MismatchError) as error:
        if str(path) not in str(error):
            raise
        raise type(error)(str(error).replace(str(path), name)) from error


def _missing() -> ThreadMissingError:
    return ThreadMissingError("there is no thread yet; adding a turn creates one")
