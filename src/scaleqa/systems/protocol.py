"""The protocol of systems under test.

A system is one file with a declaration (see `declaration.py`), given as `FILE.py:ATTRIBUTE` or
registered in the entry-point group `scaleqa.systems`. It ingests the thread turn by turn, answers
requests with units of turns, and sees each exchange afterwards. It never sees future questions, and
sees neither evidence nor boundaries unless it declares so.
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
        id: The id of the question.
        question: The text of the question.
        options: The options by letter; None for a question without options.
        at: When it is asked, in seconds since the epoch; None if the thread has no times.
    """

    id: str
    question: str
    options: Mapping[str, str] | None = None
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A retrieved unit: turns that belong together.

    Attributes:
        turns: Ids of its turns, in order; ids of earlier exchanges follow those of the thread.
        score: The score it was ranked by.
        label: The system's name for the unit.
        why: An explanation of the score.
    """

    turns: tuple[int, ...]
    score: float
    label: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """The answer to a request.

    Attributes:
        units: The retrieved units, best first.
        context: The text for the answer model.
        shown: Ids of the turns whose full text is in the context.
        parts: The texts that are shown of other turns, by id.
        relevance: The probability that one of the units holds what was asked, from 0 to 1; None
            for systems that give no probabilities.
        rewritten: Whether the context has texts of the system's own in place of turns, so that it
            cannot be said whether evidence is in it.
    """

    units: tuple[Unit, ...]
    context: str
    shown: frozenset[int]
    parts: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    relevance: float | None = None
    rewritten: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its answer, which become two more turns of the thread."""

    turns: tuple[StreamTurn, StreamTurn]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """What a system keeps.

    Attributes:
        vectors: Number of vectors.
        indexed_words: Words of all indexed texts, including copies.
        llm_calls: Number of language model calls so far.
    """

    vectors: int = 0
    indexed_words: int = 0
    llm_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a system may use.

    Attributes:
        embedder: The benchmark's embedder; systems share cached vectors, but no state.
        model: A language model for the system's own use, if the user names one.
        truth: The evidence turns of each question; empty unless the system declares to see them.
        dialogues: The turns of each dialogue; empty unless the system declares to see boundaries.
    """

    embedder: Embedder
    model: ChatModel | None = None
    truth: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dialogues: tuple[tuple[int, ...], ...] = ()


class System(Protocol):
    """A memory under test."""

    def ingest(self, turns: Sequence[StreamTurn]) -> None:
        """Ingests turns of the thread, in order."""
        ...

    def retrieve(self, asked: Asked) -> Retrieved:
        """Retrieves what is relevant to a request."""
        ...

    def observe(self, exchange: Exchange) -> None:
        """Ingests an exchange that has just happened."""
        ...

    def account(self) -> Accounting:
        """Returns what the system keeps."""
        ...

    def views(self, asked: Asked) -> Mapping[str, frozenset[int]]:
        """Returns the turns that each view leads to; empty for systems with one view."""
        ...

    def close(self) -> None:
        """Releases all resources."""
        ...
