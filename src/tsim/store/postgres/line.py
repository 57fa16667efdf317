"""SQL statements of the line of writers. The clock is the server's: those of clients may differ."""

from tsim.store.places import ALL, LONGEST, NEW
from tsim.store.postgres.transactions import Statement

NOW = "extract(epoch FROM clock_timestamp())"
# The number of a thread.
NUMBER = f"coalesce((SELECT id FROM tsim.thread WHERE namespace = %s AND name = %s), {NEW})"


def sweep(namespace: str) -> Statement:
    """Removes places that nobody needs any longer."""
    query = (
        f"DELETE FROM tsim.line WHERE namespace = %s "
        f"AND until NOT BETWEEN {NOW} - {LONGEST} AND {NOW} + {LONGEST}"
    )
    return query, (namespace,)


def join(namespace: str, thread: str | None, seconds: float) -> Statement:
    """Adds a writer to the end of the line for a thread, or for all; returns its ticket."""
    query = (
        "INSERT INTO tsim.line (namespace, thread, until) "
        f"VALUES (%s, {ALL if thread is None else NUMBER}, {NOW} + %s) RETURNING ticket"
    )
    named = () if thread is None else (namespace, thread)
    return query, (namespace, *named, seconds)


def place(namespace: str, ticket: int) -> Statement:
    """Returns for how long a ticket is kept, and how many are before it; nothing if it is gone."""
    query = (
        f"SELECT own.until - {NOW}, (SELECT count(*) FROM tsim.line AS other "
        f"WHERE namespace = %s AND {_waits('other')} AND ticket < own.ticket AND "
        f"(thread IN (own.thread, {ALL}) OR own.thread = {ALL})) "
        "FROM tsim.line AS own WHERE namespace = %s AND ticket = %s"
    )
    return query, (namespace, namespace, ticket)


def keep(namespace: str, ticket: int, seconds: float) -> Statement:
    """Keeps a place for some seconds from now."""
    query = f"UPDATE tsim.line SET until = {NOW} + %s WHERE namespace = %s AND ticket = %s"
    return query, (seconds, namespace, ticket)


def leave(namespace: str, ticket: int) -> Statement:
    """Gives up a place."""
    return "DELETE FROM tsim.line WHERE namespace = %s AND ticket = %s", (namespace, ticket)


def others_first(namespace: str, thread: str | None, ticket: int | None) -> Statement:
    """Returns how many are before a writer to a thread, or to all threads."""
    query = (
        f"SELECT count(*) FROM tsim.line WHERE namespace = %s AND {_waits('line')} "
        "AND (%s::bigint IS NULL OR ticket < %s)"
    )
    values: tuple[object, ...] = (namespace, ticket, ticket)
    if thread is None:
        return query, values
    return f"{query} AND thread IN ({NUMBER}, {ALL})", (*values, namespace, thread)


def _waits(table: str) -> str:
    return f"{table}.until > {NOW} AND {table}.until <= {NOW} + {LONGEST}"
