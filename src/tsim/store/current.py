"""Reads of a store's latest state, for any store that has snapshots."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from tsim.errors import StoreError
from tsim.state import ThreadState
from tsim.store.nearest import Near
from tsim.store.protocol import Reader
from tsim.types import Turn
from tsim.vectors import Vector


class CurrentReads(ABC):
    """Implements each read with a new snapshot, and what few stores have."""

    @property
    def read_only(self) -> bool:
        """Whether the store refuses to write."""
        return False

    @property
    @abstractmethod
    def location(self) -> str:
        """The name of the store in messages."""

    def backup(self, path: Path, *, overwrite: bool = False) -> None:
        """Raises an error, for stores that are no file."""
        raise StoreError(
            f"{self.location} is not a file, so {path} cannot be made from it; use the backups of "
            "the store, or copy the memory to a file (tsim copy)"
        )

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Reader]:
        """Returns a reader of one state of the memory, unaffected by concurrent writes."""

    def settings(self) -> dict[str, str]:
        """Returns the settings of the memory."""
        with self.snapshot() as reader:
            return reader.settings()

    def threads(self) -> list[str]:
        """Returns the names of all threads, sorted."""
        with self.snapshot() as reader:
            return reader.threads()

    def version(self, thread: str) -> tuple[int, int]:
        """Returns the version and epoch of a thread, or (0, 0) if it does not exist."""
        with self.snapshot() as reader:
            return reader.version(thread)

    def load(self, thread: str) -> ThreadState:
        """Reads a thread; an unknown thread is empty."""
        with self.snapshot() as reader:
            return reader.load(thread)

    def load_since(self, thread: str, *, turn: int, episode: int) -> ThreadState:
        """Reads what was added to a thread within the same epoch."""
        with self.snapshot() as reader:
            return reader.load_since(thread, turn=turn, episode=episode)

    def episode_turns(self, thread: str, episodes: Sequence[int]) -> dict[int, list[Turn]]:
        """Reads the turns of the given episodes; an unknown episode has none."""
        with self.snapshot() as reader:
            return reader.episode_turns(thread, episodes)

    def turns(self, thread: str, ids: Sequence[int]) -> list[Turn]:
        """Reads the given turns in order of their ids; unknown ids are skipped."""
        with self.snapshot() as reader:
            return reader.turns(thread, ids)

    def turns_called(self, thread: str, external_ids: Sequence[str]) -> dict[str, Turn]:
        """Reads the turns with the given external ids; ids that no turn has are left out."""
        with self.snapshot() as reader:
            return reader.turns_called(thread, external_ids)

    def open_turns(self, thread: str) -> list[Turn]:
        """Reads the turns of the episode that is still open."""
        with self.snapshot() as reader:
            return reader.open_turns(thread)

    def count(self, thread: str) -> int:
        """Returns the number of turns of a thread."""
        with self.snapshot() as reader:
            return reader.count(thread)

    def last_turns(self, thread: str, limit: int) -> list[Turn]:
        """Reads the last turns of a thread, in order."""
        with self.snapshot() as reader:
            return reader.last_turns(thread, limit)

    def all_turns(
        self, thread: str, first: int = 0, limit: int | None = None
    ) -> Iterator[tuple[int, Turn]]:
        """Reads turns in order; the snapshot ends when all have been read."""
        with self.snapshot() as reader:
            yield from reader.all_turns(thread, first, limit)

    def nearest(self, thread: str, query: Vector, limit: int) -> list[Near]:
        """Returns the turns nearest to a unit vector, best first: their ids and cosines."""
        with self.snapshot() as reader:
            return reader.nearest(thread, query, limit)
