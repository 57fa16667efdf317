"""The thread that a tool reads. What is said if there is none is said to an assistant."""

from tsim.errors import InputError, ThreadMissingError
from tsim.memory import Memory
from tsim.thread import Thread

DEFAULT = "default"
# Threads that an error names.
NAMED = 10


def find(memory: Memory, name: str, *, tell: bool = True) -> Thread:
    """Returns a thread.

    Args:
        memory: The memory.
        name: Its name; empty for the default, or else for the only one that there is.
        tell: Whether the caller may know which threads there are.

    Raises:
        ThreadMissingError: There are no threads at all.
        InputError: There is no such thread among others; the message names some of those.
    """
    wanted = memory.thread(name or DEFAULT)
    try:
        wanted.require()
    except ThreadMissingError:
        names = memory.threads()
    else:
        return wanted
    if not names:
        raise ThreadMissingError("nothing is remembered yet") from None
    if not name and len(names) == 1:
        return memory.thread(names[0])
    others = f"; name one of these: {_listed(names)}" if tell else ""
    raise InputError(f"there is no thread {wanted.name!r}{others}") from None


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:NAMED])
    more = len(names) - NAMED
    return f"{shown} and {more} more" if more > 0 else shown
