"""SQL statements of the line of writers in a memory file."""

import sqlite3

from tsim.store.places import ALL, LONGEST


def join(connection: sqlite3.Connection, number: int, *, now: float, until: float) -> int:
    """Adds a writer to the end of the line for a thread, or for `ALL`; returns its ticket."""
    kept = (now - LONGEST, now + LONGEST)
    connection.execute("DELETE FROM line WHERE until NOT BETWEEN ? AND ?", kept)
    query = "INSERT INTO line (thread, until) VALUES (?, ?) RETURNING ticket"
    ((ticket,),) = connection.execute(query, (number, until)).fetchall()
    return int(ticket)


def place(connection: sqlite3.Connection, ticket: int) -> tuple[int, float] | None:
    """Returns the thread of a ticket, and until when it is kept; None if it was removed."""
    query = "SELECT thread, until FROM line WHERE ticket = ?"
    found: tuple[int, float] | None = connection.execute(query, (ticket,)).fetchone()
    return found


def keep(connection: sqlite3.Connection, ticket: int, *, until: float) -> None:
    """Keeps a place until another time."""
    connection.execute("UPDATE line SET until = ? WHERE ticket = ?", (until, ticket))


def leave(connection: sqlite3.Connection, ticket: int) -> None:
    """Gives up a place."""
    connection.execute("DELETE FROM line WHERE ticket = ?", (ticket,))


def others_first(
    connection: sqlite3.Connection, number: int, ticket: int | None, *, now: float
) -> bool:
    """Returns whether others are before a writer to a thread, or to `ALL`.

    Args:
        connection: A connection in a transaction.
        number: The number of the thread.
        ticket: The writer's ticket; without one, everybody in line is before it.
        now: The time.
    """
    query = (
        "SELECT count(*) FROM line WHERE until > ?1 AND until <= ?5 "
        "AND (?2 IS NULL OR ticket < ?2) AND (thread IN (?3, ?4) OR ?3 = ?4)"
    )
    given = (now, ticket, number, ALL, now + LONGEST)
    ((count,),) = connection.execute(query, given).fetchall()
    return bool(count)
