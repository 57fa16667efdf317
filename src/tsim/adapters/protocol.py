"""What adapters need of a memory: that of a file, and that of a server, blocking or async."""

from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol, TypeAlias

from tsim.incoming import TurnLike
from tsim.types import Forgotten, Hit, Receipts, Turn


class Conversation(Protocol):
    """A thread: `tsim.Thread` or `tsim.client.RemoteThread`."""

    name: str

    def add_many(self, turns: Iterable[TurnLike]) -> Receipts:
        """Adds turns."""
        ...

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        budget: int | None = None,
        min_relevance: float | None = None,
    ) -> Sequence[Hit]:
        """Finds what is relevant to a query."""
        ...

    def turns(self, *, after: int | None = None, limit: int | None = None) -> list[Turn]:
        """Returns turns in order."""
        ...

    def recent(self, limit: int = 20) -> list[Turn]:
        """Returns the last turns in order."""
        ...

    def forget(self, *, turns: Iterable[int] | None = None) -> Forgotten:
        """Removes turns."""
        ...


class Keyed(Conversation, Protocol):
    """A thread whose turns are counted, and looked up by their external ids."""

    def __len__(self) -> int:
        """Returns the number of turns."""
        ...

    def called(self, id: str) -> Turn | None:
        """Returns the turn with an external id."""
        ...


class AsyncConversation(Protocol):
    """A thread of an `AsyncClient`."""

    name: str

    def add_many(self, turns: Iterable[TurnLike]) -> Awaitable[Receipts]:
        """Adds turns."""
        ...

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        budget: int | None = None,
        min_relevance: float | None = None,
    ) -> Awaitable[Sequence[Hit]]:
        """Finds what is relevant to a query."""
        ...

    def turns(self, *, after: int | None = None, limit: int | None = None) -> Awaitable[list[Turn]]:
        """Returns turns in order."""
        ...

    def recent(self, limit: int = 20) -> Awaitable[list[Turn]]:
        """Returns the last turns in order."""
        ...

    def forget(self, *, turns: Iterable[int] | None = None) -> Awaitable[Forgotten]:
        """Removes turns."""
        ...


AnyConversation: TypeAlias = Conversation | AsyncConversation


class Threads(Protocol):
    """A memory: `tsim.Memory` or `tsim.client.Client`."""

    def thread(self, name: str) -> Keyed:
        """Returns a thread."""
        ...

    def threads(self) -> list[str]:
        """Returns the names of all threads, sorted."""
        ...

    def forget_thread(self, name: str) -> bool:
        """Removes a thread."""
        ...
