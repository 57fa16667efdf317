"""What keys and the audit log ask of a database, whichever it is."""

from collections.abc import Iterable
from typing import Any, Protocol


class Statements(Protocol):
    """A transaction; values stand where the statement has a `?`."""

    def execute(self, sql: str, values: Any = ..., /) -> Iterable[tuple[Any, ...]]:
        """Runs a statement and returns its rows."""
        ...
