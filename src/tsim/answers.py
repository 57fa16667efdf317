"""What servers answer and clients read: lists of the public types, a page at a time."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from tsim.types import Episode, Hit, NearTurn, Turn

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some of many items, and what to ask for the following ones; None if there are none."""

    items: list[T]
    next: int | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSize:
    """A thread and its number of turns."""

    name: str
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """A page of threads; `next` is given as `after` to get the following one."""

    threads: list[ThreadSize]
    next: str | None = None

    @property
    def page(self) -> Page[str]:
        """The names."""
        return Page(items=[one.name for one in self.threads], next=self.next)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """A page of turns; `next` is given as `after` to get the following one."""

    turns: list[Turn]
    next: int | None = None

    @property
    def page(self) -> Page[Turn]:
        """The turns."""
        return Page(items=self.turns, next=self.next)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episodes:
    """A page of episodes; `next` is given as `after` to get the following one."""

    episodes: list[Episode]
    next: int | None = None

    @property
    def page(self) -> Page[Episode]:
        """The episodes."""
        return Page(items=self.episodes, next=self.next)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """What was found, best first."""

    hits: list[Hit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """The nearest turns, best first."""

    turns: list[NearTurn]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The number of turns that were imported."""

    turns: int
