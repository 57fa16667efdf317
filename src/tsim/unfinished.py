"""Files and directories that are complete or absent, and what killed processes leave of them.

What is being written has an unpredictable name, belongs to its user alone and is locked (`flock`).
The lock ends with the process that holds it, however it ends: whatever of ours is not locked was
left behind, and is removed before the next file is written to the same directory.
"""

import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tsim import private
from tsim.errors import InputError

PREFIX = ".tsim-"
PART = ".part"
# A finished file is unlocked just before it gets its name. Nobody takes so long for that.
READY = ".ready"
READY_SECONDS = 60
STDOUT = 1
# What SQLite keeps beside a database.
BESIDE = ("-journal", "-wal", "-shm")
# Of these, what it would apply to a new file of the same name.
LOGS = ("-wal", "-journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file that is being written: by its open handle, or by programs that take a path."""

    path: Path
    file: BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[Part]:
    """Writes a file under another name and renames it at the end; a failure leaves nothing.

    A link is replaced, not followed.

    Raises:
        OSError: The file cannot be written.
    """
    sweep(path.parent)
    part, handle = _make_file(path.parent)
    ready = part.with_suffix(READY)
    try:
        try:
            with os.fdopen(handle, "wb", closefd=False) as file:
                yield Part(path=part, file=file)
            os.fsync(handle)
            part.rename(ready)
        finally:
            # Closed before others may open it: closing ends SQLite's locks in the same process.
            os.close(handle)
        ready.replace(path)
        _sync(path.parent)
    finally:
        part.unlink(missing_ok=True)
        ready.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Opens a file to be written whole; a device or a pipe is written to as it is.

    Raises:
        OSError: It cannot be written.
    """
    if is_special(path):
        with os.fdopen(_open_special(path), "wb") as file:
            yield file
        return
    with replacing(path) as part:
        yield part.file


def is_special(path: Path) -> bool:
    """Returns whether a path leads to a device, a pipe or an open file of the process."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    where = path.parent.resolve()
    named = where == Path("/dev") or where.is_relative_to("/proc")
    return named or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _open_special(path: Path) -> int:
    with suppress(OSError):  # there may be no stdout
        if os.path.samestat(os.fstat(STDOUT), path.stat()):
            return os.dup(STDOUT)  # where it is a file, what is printed later goes after this
    return os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOCTTY", 0))


def require_free(path: Path, *, overwrite: bool) -> None:
    """Checks that a copy of a database can be written to a path.

    Raises:
        InputError: It is no place for a file, a file exists and `overwrite` is False, or a
            database there is in use.
    """
    if path.is_dir():
        raise InputError(f"{path} is a directory; name the file to write")
    if is_special(path):
        raise InputError(f"{path} is a device or a pipe; a backup is a file; name another path")
    if path.exists() and not overwrite:
        raise InputError(
            f"{path} exists; name another file, or pass overwrite=True (--overwrite) to replace it"
        )
    for suffix in LOGS:
        log = path.with_name(path.name + suffix)
        if log.exists():
            raise InputError(
                f"{log} belongs to a database that is in use or was not closed; name another file, "
                f"or close the memory in {path} first"
            )


@contextmanager
def scratch(parent: Path, prefix: str = PREFIX) -> Iterator[Path]:
    """Makes a private directory that is removed at the end, or by a later call if it is killed."""
    sweep(parent, prefix)
    while True:
        path = parent / f"{prefix}{secrets.token_hex(8)}{PART}"
        path.mkdir(mode=private.DIRECTORY)
        with suppress(OSError):  # swept before it was locked
            handle = os.open(path, os.O_RDONLY)
            if _claim(handle, path):
                break
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


def sweep(parent: Path, prefix: str = PREFIX) -> None:
    """Removes what killed processes of this user left in a directory."""
    with suppress(OSError):
        with os.scandir(parent) as entries:
            found = [Path(entry.path) for entry in entries if _ours(entry, prefix)]
        for path in found:
            _remove_if_left(path)


def _ours(entry: os.DirEntry[str], prefix: str) -> bool:
    if not (entry.name.startswith(prefix) and entry.name.endswith((PART, READY))):
        return False
    try:
        about = entry.stat(follow_symlinks=False)
    except OSError:  # its writer has finished
        return False
    if entry.name.endswith(READY) and time.time() - about.st_mtime < READY_SECONDS:
        return False
    mine = about.st_uid == os.geteuid() if hasattr(os, "geteuid") else True
    return mine and (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode))


def _remove_if_left(path: Path) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            _lock(handle, wait=False)  # fails while it is being written
            if path.is_dir():
                shutil.rmtree(path)
                return
            for suffix in BESIDE:
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            path.unlink()
        finally:
            os.close(handle)


def _make_file(parent: Path) -> tuple[Path, int]:
    """Creates an empty file and locks it; returns its path and an open handle."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    while True:
        path = parent / f"{PREFIX}{secrets.token_hex(8)}{PART}"
        handle = os.open(path, flags, private.FILE)
        if _claim(handle, path):
            return path, handle


def _claim(handle: int, path: Path) -> bool:
    """Locks what was just made; returns False if somebody swept it before it was locked."""
    with suppress(OSError):  # where there are no locks, nothing is swept
        _lock(handle, wait=True)
    try:
        if path.stat().st_ino == os.fstat(handle).st_ino:
            return True
    except FileNotFoundError:
        pass
    os.close(handle)
    return False


def _lock(handle: int, *, wait: bool) -> None:
    """Locks a file or directory until its handle is closed.

    Raises:
        OSError: Somebody else has locked it, or it cannot be locked.
    """
    try:
        import fcntl
    except ImportError as error:
        raise OSError("this system has no file locks") from error
    fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _sync(directory: Path) -> None:
    """Makes a renaming durable, where directories can be synced."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
