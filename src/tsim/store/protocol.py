"""What the façade asks of a store. `tsim.testing` has the suite that every store passes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from tsim.state import Changes, Counters, ThreadState
from tsim.store.agreement import Accepted
from tsim.types import Turn

# A thread's whole content.
Written: TypeAlias = tuple[Changes, Counters]


class Reader(Protocol):
    """Reads threads. Ids are between 0 and `tsim.state.MAX_ID`."""

    def settings(self) -> dict[str, str]:
        """Returns what was noted about the memory as a whole."""
        ...

    def threads(self) -> list[str]:
        """Names all threads, sorted."""
        ...

    def version(self, thread: str) -> tuple[int, int]:
        """Returns version and epoch of a thread; (0, 0) if there is none."""
        ...

    def load(self, thread: str) -> ThreadState:
        """Reads a thread; an unknown one is empty."""
        ...

    def load_since(self, thread: str, *, turn: int, episode: int) -> ThreadState:
        """Reads what was added to a thread of the same epoch.

        Args:
            thread: Its name.
            turn: The first turn id that is not known yet.
            episode: The first episode id that is not known to be closed.
        """
        ...

    def episode_turns(self, thread: str, episodes: Sequence[int]) -> dict[int, list[Turn]]:
        """Reads the turns of some episodes; an unknown episode has none."""
        ...

    def turns(self, thread: str, ids: Sequence[int]) -> list[Turn]:
        """Reads some turns, in order of their ids; unknown ids are left out."""
        ...

    def open_turns(self, thread: str) -> list[Turn]:
        """Reads the turns of the episode that is still open."""
        ...

    def all_turns(self, thread: str, first: int = 0) -> Iterator[tuple[int, Turn]]:
        """Reads all turns in order, from an id on, each with its episode."""
        ...


class Store(Reader, Protocol):
    """Keeps threads durably; safe for several threads and processes at once.

    Read directly, a store shows its newest state, each call for itself. `tsim.store.CurrentReads`
    implements those reads for any store that has snapshots.
    """

    @property
    def location(self) -> str:
        """Names the store in messages: a path or an address, without secrets."""
        ...

    def snapshot(self) -> AbstractContextManager[Reader]:
        """Lends a reader that sees one state of the memory, whatever is written meanwhile.

        The state is the one at the reader's first read or earlier, and includes everything
        committed before the snapshot was taken. Writing does not wait for snapshots. The reader
        is for one thread of execution, and of no use when the snapshot has ended.
        """
        ...

    def note(self, settings: Mapping[str, str]) -> None:
        """Notes something about the memory as a whole, unless it is noted already."""
        ...

    def commit(
        self,
        thread: str,
        changes: Changes,
        counters: Counters,
        *,
        expected: int,
        settings: Accepted,
    ) -> tuple[int, int] | None:
        """Writes changes, durably and whole, if the thread still has the expected version.

        Removing something also notes, in the same transaction, that a scrub is due.

        Returns:
            The new version and epoch, or None if somebody else was faster and nothing was written.

        Raises:
            InputError: The store cannot hold one of the texts.
            MismatchError: The memory has other settings by now: it was rebuilt meanwhile.
        """
        ...

    def add_threads(self, threads: Mapping[str, Written], *, settings: Accepted) -> None:
        """Writes new threads, all or none.

        Raises:
            InputError: One of them is there already.
            MismatchError: The memory has other settings by now: it was rebuilt meanwhile.
        """
        ...

    def replace_all(
        self,
        threads: Mapping[str, Written],
        settings: Mapping[str, str],
        *,
        expected: Mapping[str, int],
    ) -> bool:
        """Puts new contents in the place of all threads and settings, whole or not at all.

        Returns:
            False, and nothing was written, if the threads no longer have the expected versions.
        """
        ...

    def remove(self, thread: str) -> bool:
        """Removes a thread and notes that a scrub is due; tells whether it was there."""
        ...

    def scrub(self) -> bool:
        """Makes sure that nothing removed can be read back from where the memory is kept.

        Returns:
            False if others are using the memory; the scrub stays due and is tried again later.
        """
        ...

    def scrub_due(self) -> bool:
        """Tells whether something removed may still be readable."""
        ...

    def check(self) -> list[str]:
        """Looks for damage in the storage itself; returns what it found."""
        ...

    def close(self) -> None:
        """Lets go of what the store holds open."""
        ...
