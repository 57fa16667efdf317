"""What a system under test is.

A system joins the benchmark with one file that declares it (see `declaration.py`), registered under
the entry-point group `scaleqa.systems`. It is fed the thread turn by turn, answers requests with
units of turns, and sees each exchange afterwards. It never sees questions to come, and neither
evidence nor boundaries unless it declares that it does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from scaleqa.backends import ChatModel
from scaleqa.packages import StreamTurn
from tsim.embed import Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as a system sees it.

    Attributes:
        id: The question's.
        question: Its text.
        options: The choices by letter; None for a question without choices.
    """

    id: str
    question: str
    options: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Something retrieved: turns that belong together, best unit first.

    Attributes:
        turns: Ids of the turns it holds, in order; those of earlier exchanges count on from the
            thread's.
        score: What it was ranked by.
        label: What the system calls it.
        why: Where the score comes from, in words.
    """

    turns: tuple[int, ...]
    score: float
    label: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """The answer to a request.

    Attributes:
        units: What was found, best first.
        context: The text handed to the answer model.
        shown: Ids of the turns whose full text is in the context.
    """

    units: tuple[Unit, ...]
    context: str
    shown: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its answer, to be written back: two more turns of the thread."""

    turns: tuple[StreamTurn, StreamTurn]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """What a system keeps.

    Attributes:
        vectors: Vectors held.
        indexed_words: Words of all indexed texts, copies counted.
        llm_calls: Calls of a language model so far.
    """

    vectors: int = 0
    indexed_words: int = 0
    llm_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a system may use.

    Attributes:
        embedder: The benchmark's embedder; vectors are shared between systems, never state.
        model: A language model for the system's own use, where the user names one.
        truth: Each question's evidence turns; empty for systems that do not declare to see it.
        dialogues: The turns of each dialogue of the thread; empty for systems that do not declare
            to see boundaries.
    """

    embedder: Embedder
    model: ChatModel | None = None
    truth: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dialogues: tuple[tuple[int, ...], ...] = ()


class System(Protocol):
    """A memory under test."""

    def ingest(self, turns: Sequence[StreamTurn]) -> None:
        """Takes in the thread, in order, turn by turn."""
        ...

    def retrieve(self, asked: Asked) -> Retrieved:
        """Finds what bears on a request."""
        ...

    def observe(self, exchange: Exchange) -> None:
        """Takes in an exchange that has just happened."""
        ...

    def account(self) -> Accounting:
        """Tells what the system keeps."""
        ...

    def views(self, asked: Asked) -> Mapping[str, frozenset[int]]:
        """Tells which turns each view leads to; empty for systems with one view."""
        ...

    def close(self) -> None:
        """Lets go of everything."""
        ...
