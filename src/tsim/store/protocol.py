"""The interface of stores. `tsim.testing` has the test suite that every store must pass."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TypeAlias

from tsim.state import Changes, Counters, ThreadState
from tsim.store.agreement import Accepted
from tsim.store.nearest import Near
from tsim.types import Turn
from tsim.vectors import Vector

# The whole content of a thread.
Written: TypeAlias = tuple[Changes, Counters]


class Reader(Protocol):
    """Reads threads. Ids are between 0 and `tsim.state.MAX_ID`."""

    def settings(self) -> dict[str, str]:
        """Returns the settings of the memory."""
        ...

    def threads(self) -> list[str]:
        """Returns the names of all threads, sorted."""
        ...

    def version(self, thread: str) -> tuple[int, int]:
        """Returns the version and epoch of a thread, or (0, 0) if it does not exist."""
        ...

    def load(self, thread: str) -> ThreadState:
        """Reads a thread; an unknown thread is empty."""
        ...

    def load_since(self, thread: str, *, turn: int, episode: int) -> ThreadState:
        """Reads what was added to a thread within the same epoch.

        Passages are those of the turns that are read.

        Spans may be added after the turns they end with. Those whose last turn is the second-last
        stored turn before `turn`, or a later one, are returned, including some that the caller
        already has. With `turn=MAX_ID` no spans are returned.

        Args:
            thread: The name of the thread.
            turn: The first turn id that the caller does not have.
            episode: The first episode id that the caller does not have as closed.
        """
        ...

    def episode_turns(self, thread: str, episodes: Sequence[int]) -> dict[int, list[Turn]]:
        """Reads the turns of the given episodes; an unknown episode has none."""
        ...

    def turns(self, thread: str, ids: Sequence[int]) -> list[Turn]:
        """Reads the given turns in order of their ids; unknown ids are skipped."""
        ...

    def turns_called(self, thread: str, external_ids: Sequence[str]) -> dict[str, Turn]:
        """Reads the turns with the given external ids; ids that no turn has are left out."""
        ...

    def open_turns(self, thread: str) -> list[Turn]:
        """Reads the turns of the episode that is still open."""
        ...

    def count(self, thread: str) -> int:
        """Returns the number of turns of a thread; an unknown thread has none."""
        ...

    def last_turns(self, thread: str, limit: int) -> list[Turn]:
        """Reads the last turns of a thread, in order."""
        ...

    def all_turns(
        self, thread: str, first: int = 0, limit: int | None = None
    ) -> Iterator[tuple[int, Turn]]:
        """Reads turns in order, from id `first`, at most `limit`, each with its episode."""
        ...

    def nearest(self, thread: str, query: Vector, limit: int) -> list[Near]:
        """Returns the turns nearest to a unit vector, best first: their ids and cosines.

        A turn is as near as the nearest of its passages; turns of equal cosine are ordered by id.
        The vectors of the thread are not all held in RAM.
        """
        ...


class Store(Reader, Protocol):
    """Stores threads durably; safe to use from several threads and processes at once.

    The read methods of a store return its latest state; two calls may see different states.
    `tsim.store.CurrentReads` implements them for any store that has snapshots.
    """

    @property
    def location(self) -> str:
        """The name of the store in messages: a path or an address, without secrets."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether the store refuses to write: then every write raises `StoreReadOnlyError`."""
        ...

    def snapshot(self) -> AbstractContextManager[Reader]:
        """Returns a reader of one state of the memory, unaffected by concurrent writes.

        The state is the one at the reader's first read or earlier, and includes everything
        committed before the snapshot was taken. Writers do not wait for snapshots. The reader
        must be used from one thread, and not after the snapshot has ended.
        """
        ...

    def note(self, settings: Mapping[str, str]) -> None:
        """Records settings of the memory; settings that exist keep their values."""
        ...

    def commit(
        self,
        thread: str,
        changes: Changes,
        counters: Counters,
        *,
        expected: int,
        settings: Accepted,
        ticket: int | None = None,
    ) -> tuple[int, int] | None:
        """Writes changes durably and atomically, if the thread still has the expected version.

        If anything is removed, the same transaction records that a scrub is due. A ticket is used
        up by the write.

        Returns:
            The new version and epoch, or None if another writer changed the thread first, or is in
            line before this one; nothing was written then.

        Raises:
            InputError: The store cannot represent one of the texts.
            MismatchError: The settings of the memory differ, because it has been rebuilt.
            StoreError: Two turns of the thread would have the same external id, which callers
                prevent; nothing was written.
        """
        ...

    def add_threads(self, threads: Mapping[str, Written], *, settings: Accepted) -> None:
        """Writes new threads, all or none.

        Raises:
            InputError: One of them already exists.
            MismatchError: The settings of the memory differ, because it has been rebuilt.
        """
        ...

    def replace_all(
        self,
        threads: Mapping[str, Written],
        settings: Mapping[str, str],
        *,
        expected: Mapping[str, int],
        ticket: int | None = None,
    ) -> bool:
        """Replaces all threads and settings atomically. A ticket is used up by the write.

        Returns:
            False if the threads no longer have the expected versions, or another writer is in line
            before this one; nothing was written then.
        """
        ...

    def line_up(self, thread: str | None, *, seconds: float) -> int:
        """Puts a writer in line for a thread, or for all threads; returns its ticket.

        As long as somebody is in line, `commit` and `replace_all` write nothing for those who come
        later or are not in line. A place is kept for some seconds, a minute at most, unless it is
        renewed, in case the writer dies.
        """
        ...

    def first_in_line(self, ticket: int, *, seconds: float) -> bool:
        """Returns whether it is a writer's turn, and keeps its place for some more seconds.

        A ticket that was used up or given back gets no place again; its writer may try.
        """
        ...

    def leave_line(self, ticket: int) -> None:
        """Gives up a place in line."""
        ...

    def remove(self, thread: str) -> bool:
        """Removes a thread and records that a scrub is due; returns whether it existed."""
        ...

    def scrub(self) -> bool:
        """Erases removed content, so that it cannot be recovered from the storage.

        Returns:
            False if others are using the memory; the scrub stays due and is tried again later.
        """
        ...

    def scrub_due(self) -> bool:
        """Returns whether removed content may still be recoverable."""
        ...

    def backup(self, path: Path, *, overwrite: bool = False) -> None:
        """Writes a copy of one state of the memory to a memory file, while others may write.

        The file is complete or absent. Only its owner may read it.

        Raises:
            InputError: The file exists and `overwrite` is False, or it cannot be written.
            StoreError: The store is not a file.
        """
        ...

    def check(self) -> list[str]:
        """Checks the storage for damage; returns the problems found."""
        ...

    def close(self) -> None:
        """Releases the store's resources."""
        ...
