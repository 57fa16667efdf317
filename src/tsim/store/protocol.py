"""What the façade asks of a store. `tsim.testing` has the suite that every store passes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from tsim.state import Changes, Counters, ThreadState
from tsim.types import Turn

# A thread's whole content.
Written: TypeAlias = tuple[Changes, Counters]


class Store(Protocol):
    """Keeps threads durably; safe for several processes at once."""

    @property
    def location(self) -> str:
        """Names the store in messages: a path, an address; no secrets."""
        ...

    def settings(self) -> dict[str, str]:
        """Returns what was noted about the memory as a whole."""
        ...

    def note(self, settings: Mapping[str, str]) -> None:
        """Notes something about the memory as a whole, unless it is noted already."""
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

    def commit(
        self,
        thread: str,
        changes: Changes,
        counters: Counters,
        *,
        expected: int,
        settings: Mapping[str, str],
    ) -> tuple[int, int] | None:
        """Writes changes, durably and whole, if the thread still has the expected version.

        Removing something also notes, in the same transaction, that a scrub is due.

        Returns:
            The new version and epoch, or None if somebody else was faster and nothing was written.

        Raises:
            MismatchError: The memory has other settings by now: it was rebuilt meanwhile.
        """
        ...

    def add_threads(self, threads: Mapping[str, Written]) -> None:
        """Writes new threads, all or none.

        Raises:
            InputError: One of them is there already.
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

    def episode_turns(self, thread: str, episodes: Sequence[int]) -> dict[int, list[Turn]]:
        """Reads the turns of some episodes."""
        ...

    def turns(self, thread: str, ids: Sequence[int]) -> list[Turn]:
        """Reads some turns, in order of their ids."""
        ...

    def open_turns(self, thread: str) -> list[Turn]:
        """Reads the turns of the episode that is still open."""
        ...

    def all_turns(self, thread: str, first: int = 0) -> Iterator[tuple[int, Turn]]:
        """Reads all turns in order, from an id on, each with its episode."""
        ...

    def remove(self, thread: str) -> bool:
        """Removes a thread; tells whether it was there."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Sees one state of the memory throughout, whatever others write meanwhile."""
        ...

    def scrub(self) -> bool:
        """Makes sure that nothing removed can be read back from the file.

        Returns:
            False if others are using the file; the scrub stays due and is tried again later.
        """
        ...

    def scrub_due(self) -> bool:
        """Tells whether something removed may still be readable."""
        ...

    def check(self) -> list[str]:
        """Looks for damage in the file itself; returns what it found."""
        ...

    def close(self) -> None:
        """Lets go of the file."""
        ...
