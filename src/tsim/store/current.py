"""Reads of a store's newest state, for every store that has snapshots."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from tsim.state import ThreadState
from tsim.store.protocol import Reader
from tsim.types import Turn


class CurrentReads(ABC):
    """Reads each time through a snapshot of its own."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Reader]:
        """Lends a reader that sees one state of the memory, whatever is written meanwhile."""

    def settings(self) -> dict[str, str]:
        """Returns what was noted about the memory as a whole."""
        with self.snapshot() as reader:
            return reader.settings()

    def threads(self) -> list[str]:
        """Names all threads, sorted."""
        with self.snapshot() as reader:
            return reader.threads()

    def version(self, thread: str) -> tuple[int, int]:
        """Returns version and epoch of a thread; (0, 0) if there is none."""
        with self.snapshot() as reader:
            return reader.version(thread)

    def load(self, thread: str) -> ThreadState:
        """Reads a thread; an unknown one is empty."""
        with self.snapshot() as reader:
            return reader.load(thread)

    def load_since(self, thread: str, *, turn: int, episode: int) -> ThreadState:
        """Reads what was added to a thread of the same epoch."""
        with self.snapshot() as reader:
            return reader.load_since(thread, turn=turn, episode=episode)

    def episode_turns(self, thread: str, episodes: Sequence[int]) -> dict[int, list[Turn]]:
        """Reads the turns of some episodes; an unknown episode has none."""
        with self.snapshot() as reader:
            return reader.episode_turns(thread, episodes)

    def turns(self, thread: str, ids: Sequence[int]) -> list[Turn]:
        """Reads some turns, in order of their ids; unknown ids are left out."""
        with self.snapshot() as reader:
            return reader.turns(thread, ids)

    def open_turns(self, thread: str) -> list[Turn]:
        """Reads the turns of the episode that is still open."""
        with self.snapshot() as reader:
            return reader.open_turns(thread)

    def all_turns(self, thread: str, first: int = 0) -> Iterator[tuple[int, Turn]]:
        """Reads all turns in order, from an id on; the snapshot lasts until the last is read."""
        with self.snapshot() as reader:
            yield from reader.all_turns(thread, first)
