"""The interface of engines: one implementation per memory method."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass
from datetime import datetime
from typing import Any, ClassVar, Protocol, TypeAlias

from tsim.embed import Sentences
from tsim.engine.outline import Outline, Reply
from tsim.filter import ALL, Filter
from tsim.state import Changes, Counters, ThreadState
from tsim.tokens import ESTIMATE, Measure
from tsim.types import Forgotten, Hit, NewTurn, Receipt, SpanWhy, Turn, Why
from tsim.vectors import Vector, Vectors

# The ranges of characters of a turn that are shown; None for all of it.
Shown: TypeAlias = tuple[tuple[int, int], ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The functions that an engine may call.

    Attributes:
        embed: Embeds passages.
        embed_query: Embeds a query.
        read: Returns the turns of stored episodes, by episode.
        turns: Returns the given stored turns in order of their ids.
        since: Returns the stored turns from the given id, in order.
    """

    embed: Callable[[Sequence[str]], Vectors]
    embed_query: Callable[[str], Vector]
    read: Callable[[Sequence[int]], dict[int, list[Turn]]]
    turns: Callable[[Sequence[int]], list[Turn]]
    since: Callable[[int], Iterable[Turn]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """A query, and how much to return.

    Attributes:
        text: The text of the query.
        count: Maximum number of spans to return; None for the method's default.
        budget: Maximum number of tokens in all; None for the method's default, or no limit.
        measure: What the budget is measured by.
        least: Minimum relevance of a span; None for the method's default.
        only: Which turns may be returned; others are no candidates.
        now: When it is asked, with a time zone; None for the time of the latest turn.
        thread: The name of the thread, if headings will have it, which takes up budget.
    """

    text: str
    count: int | None = None
    budget: int | None = None
    measure: Measure = ESTIMATE
    least: float | None = None
    only: Filter = ALL
    now: datetime | None = None
    thread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A span that matches a query.

    Attributes:
        episode: Its episode.
        turns: The ids of its turns, in order.
        shown: The ranges of characters to show of each turn, or None for all of it; empty if all
            turns are shown as a whole.
        score: The score it is ranked by.
        why: The reasons for it.
        relevance: The probability that it holds what was asked; None if the method has none.
    """

    episode: int
    turns: tuple[int, ...]
    score: float
    why: Why | SpanWhy
    relevance: float | None = None
    shown: tuple[Shown, ...] = ()


class Engine(Protocol):
    """The working state of one thread.

    `grow` and `forget` change it and return what must be stored. If somebody else stored something
    first, `undo` takes the growth back, and `catch_up` adds what was missed. If storing fails, the
    engine is discarded and loaded from the store again.
    """

    @property
    def counters(self) -> Counters:
        """The next ids to assign."""
        ...

    @property
    def size(self) -> int:
        """How much it keeps in RAM, as the number of turns that take as much."""
        ...

    @property
    def known(self) -> tuple[int, int]:
        """The first turn id and the first closed episode id that this state does not have."""
        ...

    def catch_up(self, state: ThreadState) -> None:
        """Adds what other writers have stored since this state was loaded."""
        ...

    def grow(
        self,
        turns: Sequence[NewTurn],
        vectors: Vectors,
        host: Host,
        *,
        starts: Sequence[tuple[int, ...]] | None = None,
        sentences: Sentences | None = None,
    ) -> tuple[Changes, list[Receipt]]:
        """Adds turns.

        Args:
            turns: The turns.
            vectors: The vectors of their passages, in order.
            host: The functions that may be called.
            starts: The characters at which the passages of each turn begin, the first at 0. By
                default, and for methods that do not divide, each turn is one passage.
            sentences: Their sentences, for methods that look at these.
        """
        ...

    def undo(self) -> None:
        """Takes back the last `grow`, which was not stored; nothing else may be done in between.

        The engine is complete again after the `catch_up` that must follow.
        """
        ...

    def episode_of(self, turn: int) -> int:
        """Returns the episode of a stored turn."""
        ...

    def skip_to(self, turn: int) -> None:
        """Skips turn ids: the next turn gets this id."""
        ...

    def receipt(self, turn: int) -> Receipt:
        """Returns the receipt of a stored turn again."""
        ...

    def search(self, query: Query, host: Host) -> list[Found]:
        """Returns the best spans, best first.

        Methods that pack stay within the budget; for others the caller applies it.
        """
        ...

    def warm(self, host: Host) -> None:
        """Computes what searches need of all turns, so that the next one need not."""
        ...

    def views(self, query: Query, host: Host) -> Mapping[str, frozenset[int]]:
        """Returns the turns that each view finds, before ranking."""
        ...

    def beginnings(self, threshold: float, host: Host) -> list[int]:
        """Returns the turns that begin an episode, at a given confidence threshold.

        Raises:
            InputError: The method cannot recompute episodes.
        """
        ...

    def outline(self, host: Host) -> Outline:
        """Returns the shape of the thread: its episodes, and where new topics may begin."""
        ...

    def replies(self, turns: range, host: Host) -> list[Reply]:
        """Returns which turns of a range may reply to which, where conversations are interleaved.

        In order of the turns, the most likely first.
        """
        ...

    def forget(
        self, turns: Sequence[int], host: Host
    ) -> tuple[Changes, Forgotten, "Engine | None"]:
        """Recomputes what is derived from turns that are to be forgotten.

        Returns:
            What must be stored, what is said about it, and the engine after that, which scores as
            if the turns had never existed. If it is None, the thread must be loaded again, also if
            nothing is stored; else this engine stays as it is.
        """
        ...


class Settings(Protocol):
    """All constants of a method; creates the engine that uses them.

    A frozen dataclass of numbers and strings, or of such dataclasses. The fingerprint of a preset
    is computed from them.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def budget(self) -> int | None:
        """Default token budget of a search; None for no limit."""
        ...

    @property
    def summarises(self) -> bool:
        """Whether episodes get a summary when they close."""
        ...

    @property
    def divides(self) -> bool:
        """Whether long turns are divided into passages."""
        ...

    @property
    def sentences(self) -> bool:
        """Whether the sentences of turns are embedded as well."""
        ...

    def asked(self, question: str) -> list[str]:
        """Returns the texts that a search for a question embeds, the question first."""
        ...

    def engine(self, dimension: int, state: ThreadState) -> Engine:
        """Opens a thread."""
        ...

    def arrange(self, hits: Sequence[Hit]) -> list[Hit]:
        """Sorts hits into the order used in a prompt."""
        ...
