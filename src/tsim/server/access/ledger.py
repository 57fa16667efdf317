"""Where keys and the audit log are kept: in a file, or in a database that several servers share."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from tsim.server.access.file import AccessFile
from tsim.server.access.statements import Statements
from tsim.store import require_extra


class Ledger(Protocol):
    """The tables of keys and of the audit log, for several threads and processes."""

    @property
    def secret(self) -> bytes | None:
        """What all servers that use it sign with; None if there is one server alone."""
        ...

    def reading(self) -> AbstractContextManager[Statements]:
        """Yields a transaction that sees one state."""
        ...

    def writing(self) -> AbstractContextManager[Statements]:
        """Yields a transaction in which nobody else writes; it commits or rolls back."""
        ...

    def unguarded(self, statements: Statements) -> Iterator[str]:
        """Yields what no longer keeps the log from being changed."""
        ...

    def close(self) -> None:
        """Closes it."""
        ...


def open_ledger(place: Path | str) -> Ledger:
    """Opens the file of keys, or the tables of a database, creating them if they are missing.

    Args:
        place: The file, or the address of a database, as text.

    Raises:
        StoreError: It cannot be used.
    """
    if isinstance(place, Path):
        return AccessFile(place)
    require_extra()
    from tsim.server.access.postgres import AccessTables

    return AccessTables(place)
