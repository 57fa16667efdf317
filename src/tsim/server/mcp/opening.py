"""How the tools reach a memory: they neither know the transport nor choose the namespace."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from anyio import to_thread

from tsim.memory import Memory
from tsim.server.access import Scope

log = logging.getLogger("tsim.server")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The memory that a call is about.

    Attributes:
        memory: The memory.
        namespace: Its name, which confirmations are bound to.
        note: Adds to the audit log what is about to be done: an action, and what it is about.
    """

    memory: Memory
    namespace: str
    note: Callable[..., None]


class OpenMemory(Protocol):
    """Opens the memory of whoever sends the current message."""

    def __call__(self, scope: Scope, *, create: bool = False) -> AbstractContextManager[Opened]:
        """Yields the memory. Blocks.

        Args:
            scope: What the sender must be allowed to do.
            create: Whether to create the memory if there is none yet.

        Raises:
            AccessError: The sender may not do this.
            ThreadMissingError: There is no memory, and it should not be created.
        """
        ...


class Work(Protocol):
    """Runs what blocks in a worker."""

    async def __call__(self, function: Callable[[], T]) -> T:
        """Returns the result of the function."""
        ...


async def in_thread(function: Callable[[], T]) -> T:
    """Runs what blocks in a thread; what was begun is finished."""
    return await to_thread.run_sync(function)


def single(memory: Memory) -> OpenMemory:
    """Returns what opens one memory, for a user who may do everything with it."""

    def note(action: str, **about: object) -> None:
        log.info("%s %s", action, about)

    @contextmanager
    def opened(scope: Scope, *, create: bool = False) -> Iterator[Opened]:
        yield Opened(memory=memory, namespace="", note=note)

    return opened
