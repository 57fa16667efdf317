"""Checks that a memory has the thread that is to be read."""

from tsim.errors import ThreadMissingError
from tsim.store.protocol import Reader


def require_thread(location: str, reader: Reader, thread: str) -> None:
    """Raises an error if a memory has no thread of this name.

    Args:
        location: Location of the memory, for the message.
        reader: Reads the memory.
        thread: The name.

    Raises:
        ThreadMissingError: The thread does not exist.
    """
    if reader.version(thread) == (0, 0):
        raise ThreadMissingError(
            f"there is no thread {thread!r} in {location}; adding a turn creates it; "
            "Memory.threads (tsim threads) lists those that exist"
        )
