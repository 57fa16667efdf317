"""The memories of a server: one file for each namespace, so that none can reach into another."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tsim.embed import Embedder
from tsim.errors import ThreadMissingError
from tsim.memory import Memory
from tsim.residency import Residency
from tsim.server.names import FILE, check_namespace
from tsim.server.settings import Settings

# Memories that stay open while nobody uses them.
OPEN = 64


@dataclass(slots=True)
class _Opened:
    memory: Memory
    users: int = 0


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
        self._embedder = embedder
        self._most = most
        # One bound for the threads of all memories together.
        self.resident = Residency(settings.limits.resident)
        self._guard = threading.Lock()
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._opening: dict[str, threading.Lock] = {}

    @property
    def count(self) -> int:
        """Number of memories that are open."""
        return len(self._opened)

    def names(self) -> list[str]:
        """Returns the namespaces that have a memory, sorted."""
        only = self._settings.only
        if only is not None:
            return [only] if self._settings.place.is_file() else []
        found = self._settings.directory.glob(f"*{FILE}")
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
        opened = self._acquire(check_namespace(name), create)
        try:
            yield opened.memory
        finally:
            with self._guard:
                opened.users -= 1
            self._close_unused(self._most)

    def close(self) -> None:
        """Closes all memories that are not in use."""
        self._close_unused(0)

    def _acquire(self, name: str, create: bool) -> _Opened:
        with self._guard:
            opening = self._opening.setdefault(name, threading.Lock())
        # Others are not kept waiting while a file is opened.
        with opening:
            with self._guard:
                found = self._opened.get(name)
                if found is not None:
                    found.users += 1
                    self._opened.move_to_end(name)
                    return found
            path = self._settings.directory / f"{name}{FILE}"
            served = self._settings.only in (None, name)
            if not served or not (create or path.is_file()):
                raise ThreadMissingError("there is no thread yet; adding a turn creates one")
            memory = Memory.open(
                path,
                model=self._embedder,
                preset=None if path.is_file() else self._settings.preset,
                tokens=self._settings.tokens,
                resident=self.resident,
            )
            found = _Opened(memory, users=1)
            with self._guard:
                self._opened[name] = found
            return found

    def _close_unused(self, most: int) -> None:
        with self._guard:
            unused = [name for name, one in self._opened.items() if not one.users]
            gone = unused[: max(0, len(self._opened) - most)]
            memories = [self._opened.pop(name).memory for name in gone]
            for name in gone:
                self._opening.pop(name, None)
        for memory in memories:
            memory.close()
