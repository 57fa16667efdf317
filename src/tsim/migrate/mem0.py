"""mem0: what its history says is remembered, in one thread.

The history has no users; what `get_all` returns has, and is read by `tsim add`.
"""

import sqlite3
from functools import partial

from tsim.errors import InputError
from tsim.logs.fields import seconds_of
from tsim.migrate.taking import Taking
from tsim.types import NewTurn

KIND = "mem0"
TABLES = {
    "history": {"memory_id", "new_memory", "event", "created_at", "updated_at"},
}
THREAD = "mem0"
ROLE = "memory"

# Rows are in the order in which they were written.
ROWS = "SELECT memory_id, new_memory, event, created_at, {role} FROM history ORDER BY rowid"


def read(connection: sqlite3.Connection, taking: Taking) -> None:
    """Takes the memories as they are now, in the order in which they were first made."""
    names = {
        name for (name,) in connection.execute("SELECT name FROM pragma_table_info('history')")
    }
    rows = ROWS.format(role="role" if "role" in names else "NULL")
    now: dict[str, tuple[object, object, object]] = {}
    for name, text, event, created, role in connection.execute(rows):
        if event == "DELETE":
            if now.pop(str(name), None) is not None:
                taking.skipped["deleted memory"] += 1
        else:
            taking.skipped["former text"] += str(name) in now
            now[str(name)] = (text, created, role)
    for name, (text, created, role) in now.items():
        if not isinstance(text, str) or not text.strip():
            taking.skipped["empty text"] += 1
        else:
            taking.take(THREAD, f"memory {name}", partial(_turn, name, text, created, role))


def _turn(name: str, text: str, created: object, role: object) -> NewTurn:
    try:
        at = None if created is None else seconds_of(created)
    except InputError as error:
        raise InputError(f"created_at: {error}") from error
    return NewTurn(role=role if isinstance(role, str) else ROLE, text=text, at=at, id=name)
