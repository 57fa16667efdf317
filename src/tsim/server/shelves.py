"""Where the memories of a server are: files in a directory, or rows of a database."""

from contextlib import suppress
from typing import Any, Protocol

from tsim import environment
from tsim.embed.models import name_of
from tsim.errors import TsimError
from tsim.memory import Memory
from tsim.server.names import FILE
from tsim.server.roles import unbound
from tsim.server.settings import Settings
from tsim.store import require_extra

# Memory files whose model is looked at when a server starts.
LOOKED_AT = 50


class Shelf(Protocol):
    """Finds and opens memories by their namespaces."""

    def names(self) -> list[str]:
        """Returns the namespaces that have a memory, sorted."""
        ...

    def has(self, name: str) -> bool:
        """Returns whether a namespace has a memory."""
        ...

    def open(self, name: str, **options: Any) -> Memory:
        """Opens the memory of a namespace, creating it if needed; options are `Memory.open`'s."""
        ...

    def location(self, name: str) -> str:
        """Returns what errors call the memory of a namespace."""
        ...

    def close(self) -> None:
        """Closes what is not a memory."""
        ...


def model_for(settings: Settings) -> str | None:
    """Returns the model that a server uses; None for the default one.

    If none was chosen, it is the known model of the memory files that the server has, if they
    agree: it goes on with the model its memories were begun with, whatever the default is now.
    """
    chosen = settings.model or environment.chosen_model()
    if chosen or settings.store is not None:
        return chosen
    files = Files(settings)
    found = set()
    for name in files.names()[:LOOKED_AT]:
        with suppress(TsimError), files.open(name, read_only=True) as memory:
            found.add(name_of(memory.model))
    return found.pop() if len(found) == 1 else None


class Files:
    """A memory file for each namespace, in one directory."""

    def __init__(self, settings: Settings) -> None:
        """Opens nothing yet."""
        # Asked for once: to tell a directory from a file takes a look at the disk.
        self._only, self._directory = settings.only, settings.directory

    def names(self) -> list[str]:
        """Returns the namespaces that have a memory, sorted."""
        if self._only is not None:
            return [self._only] if self.has(self._only) else []
        return sorted(path.stem for path in self._directory.glob(f"*{FILE}") if path.is_file())

    def has(self, name: str) -> bool:
        """Returns whether a namespace has a memory."""
        return (self._directory / f"{name}{FILE}").is_file()

    def open(self, name: str, **options: Any) -> Memory:
        """Opens the memory of a namespace, creating it if needed."""
        return Memory.open(self._directory / f"{name}{FILE}", **options)

    def location(self, name: str) -> str:
        """Returns the path of a file."""
        return str(self._directory / f"{name}{FILE}")

    def close(self) -> None:
        """Has nothing to close."""


class Rows:
    """The namespaces of a Postgres database, kept apart by policies of its rows."""

    def __init__(self, url: str, *, connections: int) -> None:
        """Connects.

        Args:
            url: The address of the database.
            connections: How many may be in use at the same time.

        Raises:
            InputError: The address cannot be read, or its user could read all namespaces.
            StoreError: The database cannot be reached or used.
        """
        require_extra()
        from tsim.store.postgres import PostgresDatabase

        self._database = PostgresDatabase(url, pool_size=connections)
        if self._database.bypasses_security():
            self._database.close()
            raise unbound(self._database.place)

    def names(self) -> list[str]:
        """Returns the namespaces that have a memory, sorted."""
        return self._database.namespaces()

    def has(self, name: str) -> bool:
        """Returns whether a namespace has a memory."""
        return self._database.has(name)

    def open(self, name: str, **options: Any) -> Memory:
        """Opens the memory of a namespace, creating it if needed."""
        return Memory.open(store=self._database.store(name), **options)

    def location(self, name: str) -> str:
        """Returns the address of a memory, without password."""
        return f"{self._database.place}#{name}"

    def close(self) -> None:
        """Closes the connections."""
        self._database.close()


def open_shelf(settings: Settings) -> Shelf:
    """Returns where the memories of a server are.

    Raises:
        InputError: The database cannot be served.
        StoreError: It cannot be reached.
    """
    if settings.store is None:
        return Files(settings)
    # A request may need a second one to write while it reads.
    return Rows(settings.store, connections=2 * settings.limits.workers + 2)
