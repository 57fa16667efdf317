"""Row keys: thread number and id combined in one integer.

In SQLite files the rows of a thread are one ordered range of each table, without a second index.
Checksums cover keys in every store, so that a row that belongs elsewhere is noticed.
"""

# A thread's number times 2^32 must fit into a key.
MOST_THREADS = 2**31
SHIFT = 32  # as in the schemas; `tsim.state.MAX_ID` fits into the lower bits


def span_of(number: int, first: int = 0) -> tuple[int, int]:
    """Returns the lowest and highest key of a thread, from id `first`."""
    base = number << SHIFT
    return base + first, base + (1 << SHIFT) - 1


def key_of(number: int, identifier: int) -> int:
    """Returns the key of an id in a thread."""
    return (number << SHIFT) + identifier


def id_of(key: int) -> int:
    """Returns the id within the thread."""
    return key & ((1 << SHIFT) - 1)
