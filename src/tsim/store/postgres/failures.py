"""Converts errors of Postgres to store errors."""

import psycopg

from tsim.errors import (
    OutcomeUnknownError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnreachableError,
)

# What to do about damage.
MENDING = "restore it from a backup of the database, or from an export"
# Classes of SQLSTATE, or whole codes, after which a connection is of no more use.
ENDED = ("08", "57P01", "57P02", "57P03", "57P05", "25P03")
BUSY = ("40001", "40P01", "55P03", "57014")
# What a server says, in English, when somebody cannot connect, and what to do about it.
REFUSED = {
    "password authentication failed": "check the password, in the address or in PGPASSWORD",
    "no password supplied": "give the password in the address, in PGPASSWORD or in ~/.pgpass",
    "does not exist": "create it, or correct the address",
    "too many": "try again later, or let the server take more connections",
    "starting up": "try again in a moment",
    "no pg_hba.conf entry": "let the server accept this user from here (pg_hba.conf)",
}


def is_lost(error: psycopg.Error) -> bool:
    """Returns whether an error means that the connection has ended."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith(ENDED)


def unreachable(place: str, error: psycopg.Error) -> StoreError:
    """Returns an error about a database to which nobody could connect."""
    reason = _first_line(error)
    advice = next((what for words, what in REFUSED.items() if words in reason), None)
    return StoreUnreachableError(
        f"{place} cannot be reached ({reason}); "
        f"{advice or 'check that the server runs, and the address'}; nothing was changed"
    )


def lost(location: str, error: psycopg.Error) -> StoreError:
    """Returns an error about a connection that ended before anything was written."""
    return StoreUnreachableError(
        f"the connection to {location} ended ({_first_line(error)}); nothing was changed; try again"
    )


def doubtful(location: str, error: psycopg.Error) -> StoreError:
    """Returns an error about a connection that ended while a change was being written."""
    return OutcomeUnknownError(
        f"the connection to {location} ended ({_first_line(error)}) while a change was written, "
        "and it is unknown whether it was; look at the latest turns before you try again"
    )


def explain(location: str, error: psycopg.Error) -> StoreError:
    """Returns an error that says what happened to a memory and what to do about it."""
    state, reason = error.sqlstate or "", _first_line(error)
    if is_lost(error):
        return lost(location, error)
    if state in BUSY:
        return StoreBusyError(
            f"{location} was locked by others for too long ({reason}); nothing was changed; try "
            "again later"
        )
    if state.startswith("53"):
        kind = StoreFullError if state == "53100" else StoreBusyError
        return kind(
            f"the server of {location} lacks resources ({reason}): this change was not written and "
            "the existing content is intact; free some and try again"
        )
    if state == "25006":
        return StoreReadOnlyError(
            f"{location} cannot be written ({reason}); it may be a standby; use the address of the "
            "primary, or open it with read_only=True (--read-only)"
        )
    if state == "42501":
        return StoreReadOnlyError(
            f"the user of {location} lacks rights ({reason}); grant them as docs/postgres.md says, "
            "or open it with read_only=True (--read-only) if it may only read"
        )
    if state.startswith("XX"):
        return StoreError(f"{location} is damaged ({reason}); {MENDING}")
    return StoreError(f"{location}: {reason}; run: tsim doctor --memory {location}")


def _first_line(error: psycopg.Error) -> str:
    """Returns the reason without details, which may quote rows."""
    found = error.diag.message_primary or str(error)
    lines = [line.strip() for line in found.splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
