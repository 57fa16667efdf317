"""What a server answers: the form of every answer, and errors as exceptions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from tsim import errors, wire
from tsim.errors import RemoteError, TsimError
from tsim.types import Episode, Hit, Receipt, Turn

T = TypeVar("T")

PROBLEM = "application/problem+json"
# Our kinds of errors by their names, which never change.
KINDS: Mapping[str, type[TsimError]] = {
    found.kind: found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, TsimError) and found is not TsimError
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some of many items, and what to ask for the following ones; None if there are none."""

    items: list[T]
    next: int | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """Receipts of turns."""

    receipts: list[Receipt]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A thread and its number of turns."""

    name: str
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """A page of threads."""

    threads: list[Size]
    next: str | None = None

    @property
    def page(self) -> Page[str]:
        """The names."""
        return Page(items=[one.name for one in self.threads], next=self.next)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """A page of turns."""

    turns: list[Turn]
    next: int | None = None

    @property
    def page(self) -> Page[Turn]:
        """The turns."""
        return Page(items=self.turns, next=self.next)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episodes:
    """A page of episodes."""

    episodes: list[Episode]
    next: int | None = None

    @property
    def page(self) -> Page[Episode]:
        """The episodes."""
        return Page(items=self.episodes, next=self.next)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found."""

    hits: list[Hit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The text for a prompt."""

    context: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The number of turns that were imported."""

    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error of our server, as it is sent."""

    kind: str
    detail: str


def error_of(kind: str, detail: str) -> TsimError:
    """Returns the exception that a server had; `RemoteError` for what only servers have."""
    return KINDS.get(kind, RemoteError)(detail)


def read_problem(media_type: str, content: bytes) -> Problem | None:
    """Returns what a server of ours says about an error; None if somebody else answered."""
    if media_type.partition(";")[0].strip().lower() != PROBLEM:
        return None
    try:
        found: Problem = wire.load(Problem, content)
    except ValueError:
        return None
    return found
