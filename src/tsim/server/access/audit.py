"""The audit log: lines that can only be added, each bound to the one before it by a hash.

Whoever can write the file can also replace the whole log or cut off its end; to notice that, keep
the hash of the last line (`tsim keys audit --verify` shows it) somewhere else.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tsim.server.access.statements import Statements

CREATE_KEY = "create_key"
REVOKE_KEY = "revoke_key"
# Longer words in a line are cut short: they are names and labels, and never texts of turns.
LONGEST = 500
# Entries of a list, such as the turns that were forgotten; of more, the number is noted. The log is
# never erased, and nobody should be able to fill the disk with it.
ENTRIES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the audit log.

    Attributes:
        number: Its number, from 1.
        at: When, in seconds since the epoch.
        key: The id of the key with which it was done; empty if without one, or on this machine.
        action: What was done.
        namespace: In which namespace; `*` for all.
        about: More about it, such as the name of the thread.
        hash: Over the hash of the line before it, and all of the above.
    """

    number: int
    at: float
    key: str
    action: str
    namespace: str
    about: Mapping[str, Any]
    hash: str


def append(
    statements: Statements,
    *,
    at: float,
    key: str,
    action: str,
    namespace: str,
    about: Mapping[str, object],
) -> None:
    """Adds a line to the log, in a transaction that nobody else writes in; see `Entry`."""
    number, before = head(statements)
    content = (number + 1, at, key, action, namespace, json.dumps(_short(about), sort_keys=True))
    row = (*content, _hash(before, content))
    statements.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def head(statements: Statements) -> tuple[int, str]:
    """Returns the number and the hash of the last line; 0 and nothing if there is none."""
    found = statements.execute("SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1")
    for number, hashed in found:
        return number, hashed
    return 0, ""


def page(statements: Statements, after: int, limit: int) -> list[Entry]:
    """Returns lines with higher numbers than `after`, in order."""
    rows = statements.execute(
        "SELECT * FROM audit WHERE number > ? ORDER BY number LIMIT ?", (after, limit)
    )
    return [
        Entry(
            number=number,
            at=at,
            key=key,
            action=action,
            namespace=namespace,
            about=_about(about),
            hash=hashed,
        )
        for number, at, key, action, namespace, about, hashed in rows
    ]


def problems(statements: Statements) -> Iterator[str]:
    """Checks the whole log; yields what is wrong with it."""
    expected, before = 1, ""
    noted: dict[str, set[str]] = {CREATE_KEY: set(), REVOKE_KEY: set()}
    for *content, found in statements.execute("SELECT * FROM audit ORDER BY number"):
        number, action, about = content[0], content[3], content[5]
        if number != expected:
            yield f"lines {expected} to {number - 1} of the audit log are missing"
        elif found != _hash(before, tuple(content)):
            yield f"line {number} of the audit log, or the hash before it, was changed"
        if action in noted:
            noted[action].add(str(_about(about).get("key")))
        expected, before = number + 1, found
    for key, revoked in statements.execute("SELECT id, revoked FROM key ORDER BY id"):
        if key not in noted[CREATE_KEY]:
            yield f"no line of the audit log says that key {key} was created"
        if revoked is not None and key not in noted[REVOKE_KEY]:
            yield f"no line of the audit log says that key {key} was revoked"


def _hash(before: str, content: tuple[object, ...]) -> str:
    # Nothing but text and numbers is written, but anything may have been put there since.
    return hashlib.sha256(json.dumps([before, *content], default=repr).encode()).hexdigest()


def _about(text: str) -> dict[str, Any]:
    """Returns the fields of a line; none if it was damaged, which the hash shows."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _short(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
    if isinstance(value, Mapping):
        return {str(name): _short(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        left = [f"… {len(value) - ENTRIES} more"] if len(value) > ENTRIES else []
        return [*map(_short, value[:ENTRIES]), *left]
    return value
