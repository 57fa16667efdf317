"""Erases removed content from the files of tables, where that holds up nobody.

A row that is deleted stays in the file of its table, also when its space is free again. Only a
table that is written anew has nothing of it: `VACUUM FULL`, for which nobody else may use the
table. So it is done at once or not at all (`SKIP_LOCKED`), for small tables only, and counts if the
server says that no dead row had to be kept for somebody who might still see it.
"""

import re
import time

from tsim.errors import StoreError
from tsim.store.postgres.transactions import Transactions

# Tables with texts, names, or vectors made from texts.
TABLES = ("thread", "turn", "passage", "sentence", "episode", "cluster", "member", "span")
# Bytes of all of them up to which they are written anew, in about as many milliseconds per MiB.
LARGEST = 32 << 20
# Seconds for which it is tried, and between two attempts. Nobody is held up meanwhile.
ERASE_SECONDS, RETRY_SECONDS = 0.25, 0.02
SIZE = (
    "SELECT sum(pg_total_relation_size(('tsim.' || name)::regclass)) FROM unnest(%s::text[]) name"
)
# The server's language may be any; the number comes first in all of them.
KEPT = re.compile(r"\D*(\d+)")


def due(transactions: Transactions, namespace: str, location: str) -> int | None:
    """Returns the removal that may still be recoverable, if there is one."""
    query = "SELECT scrub FROM tsim.memory WHERE namespace = %s"
    (rows,) = transactions.read(namespace, location, (query, (namespace,)))
    return rows[0][0] if rows else None


def erase(transactions: Transactions, namespace: str, location: str) -> bool:
    """Erases what was removed, if it can be done now; returns whether nothing is left to erase."""
    try:
        removal = due(transactions, namespace, location)
        if removal is None:
            return True
        (((size,),),) = transactions.read(namespace, location, (SIZE, ([*TABLES],)))
        if size > LARGEST or not _rewritten(transactions, location):
            return False
        done = (
            "UPDATE tsim.memory SET scrub = NULL WHERE namespace = %s AND scrub = %s",
            (namespace, removal),
        )
        transactions.write(namespace, location, lambda _: (None, [done]))
        # Unless something else was removed meanwhile.
        return due(transactions, namespace, location) is None
    except StoreError:
        return False  # the removal was written all the same


def _rewritten(transactions: Transactions, location: str) -> bool:
    left, until = [*TABLES], time.monotonic() + ERASE_SECONDS
    while True:
        left = [table for table in left if not _rewrite(transactions, location, table)]
        if not left or time.monotonic() >= until:
            return not left
        time.sleep(RETRY_SECONDS)


def _rewrite(transactions: Transactions, location: str, table: str) -> bool:
    """Writes a table anew; returns whether it has nothing of what was removed."""
    said = transactions.maintain(location, f"VACUUM (FULL, SKIP_LOCKED, VERBOSE) tsim.{table}")
    kept = [found[1] for found in map(KEPT.match, said) if found]
    return bool(kept) and all(number == "0" for number in kept)
