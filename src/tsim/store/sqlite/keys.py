"""Row keys of the SQLite store: the number of the thread and the id in it, in one integer.

A thread's rows are one range of each table, in order, without a second index.
"""

SHIFT = 32  # as in the schema; `tsim.state.MAX_ID` fits below it


def span_of(number: int, first: int = 0) -> tuple[int, int]:
    """Returns the lowest and highest key of a thread, from an id on."""
    base = number << SHIFT
    return base + first, base + (1 << SHIFT) - 1


def key_of(number: int, identifier: int) -> int:
    """Returns the key of an id in a thread."""
    return (number << SHIFT) + identifier


def id_of(key: int) -> int:
    """Returns the id within its thread."""
    return key & ((1 << SHIFT) - 1)
