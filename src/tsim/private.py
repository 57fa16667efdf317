"""Files and directories for the user alone.

Memories, exports, rows and caches quote conversations, so nobody else on the machine can read them,
whatever the umask. The modes of files and directories that exist are left as they are.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FILE = 0o600
DIRECTORY = 0o700

_creating = threading.Lock()


def create(path: Path, *, parents: bool = True) -> Path:
    """Creates an empty file with mode 600, if it is missing.

    Args:
        path: The file.
        parents: Whether to create the directories it is in, too.

    Returns:
        The path, to be opened for writing.
    """
    if parents:
        make_directory(path.parent)
    # SQLite's locks on a file end when any descriptor of it is closed in the same process: nobody
    # may go on to open the file while it is still open here.
    with _creating, suppress(FileExistsError):
        path.resolve().touch(mode=FILE, exist_ok=False)  # a link may lead to a missing file
    return path


def make_directory(path: Path) -> Path:
    """Creates a directory with mode 700, if it is missing, and those above it; returns it."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode=DIRECTORY, exist_ok=True)
    return path


@contextmanager
def by_default() -> Iterator[None]:
    """Makes new files private while commands run; for programs, since it holds for all threads."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
