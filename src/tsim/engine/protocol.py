"""The seam between the façade and a method of remembering."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass
from typing import Any, ClassVar, Protocol

from tsim.state import Changes, Counters, ThreadState
from tsim.types import Forgotten, Hit, NewTurn, Receipt, SpanWhy, Turn, Why
from tsim.vectors import Vector, Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What an engine may ask of the world.

    Attributes:
        embed: Embeds passages.
        read: Returns the turns of stored episodes, by episode.
        turns: Returns some stored turns, in order of their ids.
        since: Returns the stored turns from an id on, in order.
    """

    embed: Callable[[Sequence[str]], Vectors]
    read: Callable[[Sequence[int]], dict[int, list[Turn]]]
    turns: Callable[[Sequence[int]], list[Turn]]
    since: Callable[[int], Iterable[Turn]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """What is asked for: as text, as a vector, and how much may come back.

    Attributes:
        text: As it was asked.
        vector: Its embedding.
        count: Most spans to return; the method's own number where None.
        budget: Most tokens in all; the method's own number, or no limit, where None.
    """

    text: str
    vector: Vector
    count: int | None = None
    budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A span that answers a query: turn ids in order, its score, and why."""

    episode: int
    turns: tuple[int, ...]
    score: float
    why: Why | SpanWhy


class Engine(Protocol):
    """One thread's working state.

    `grow` and `forget` change it and return what must be stored. If storing fails, the engine is
    thrown away and loaded again: what is on disk is the truth.
    """

    @property
    def counters(self) -> Counters:
        """The ids that will be given next."""
        ...

    @property
    def known(self) -> tuple[int, int]:
        """The first turn and the first closed episode that this state does not hold."""
        ...

    def catch_up(self, state: ThreadState) -> None:
        """Takes in what others have added since this state was loaded."""
        ...

    def grow(
        self, turns: Sequence[NewTurn], vectors: Vectors, host: Host
    ) -> tuple[Changes, list[Receipt]]:
        """Adds turns."""
        ...

    def skip_to(self, turn: int) -> None:
        """Leaves out turn ids: the next turn gets this one."""
        ...

    def search(self, query: Query, host: Host) -> list[Found]:
        """Returns the best spans, best first.

        A method that packs keeps to the budget; others leave that to whoever asked.
        """
        ...

    def views(self, query: Query, host: Host) -> Mapping[str, frozenset[int]]:
        """Tells which turns each view leads to, before anything is ranked."""
        ...

    def beginnings(self, threshold: float, host: Host) -> list[int]:
        """Returns the turns that begin an episode, at a threshold of confidence.

        Raises:
            InputError: The method has made its cuts for good.
        """
        ...

    def holds(self, turns: Sequence[int]) -> bool:
        """Tells whether all these turns are known."""
        ...

    def forget(self, turns: Sequence[int], host: Host) -> tuple[Changes, Forgotten]:
        """Removes turns and makes anew what was derived from them."""
        ...


class Settings(Protocol):
    """All constants of a method, and the way to the engine that uses them.

    A frozen dataclass of numbers and texts, or of such dataclasses: they become the fingerprint of
    a preset.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def budget(self) -> int | None:
        """Tokens that a search may return where the caller gives no budget; None for no limit."""
        ...

    @property
    def summarises(self) -> bool:
        """Whether episodes get a summary when they close."""
        ...

    def engine(self, dimension: int, state: ThreadState) -> Engine:
        """Opens a thread."""
        ...

    def arrange(self, hits: Sequence[Hit]) -> list[Hit]:
        """Puts hits in the order of a prompt."""
        ...
