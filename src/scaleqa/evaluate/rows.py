"""Rows: one for each question that a system was asked. Every figure is computed from them.

A row has the question, what was retrieved and, where somebody answered, the answer. Retrieval rows
and rows of the closed loop are the same model: without a reader, `run.reader` and `answered` are
None. What takes much room is in `detail`, which may be left out; what differs from one run to the
next is in `timing`, and nothing else does.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

VERSION: Literal[2] = 2


class Stored(BaseModel):
    """A part of a row: immutable, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Reader(Stored):
    """Who answers."""

    backend: str
    """Identity of the backend."""
    prompt: str
    """Name and hash of the prompt."""
    writeback: bool
    """Whether exchanges become part of the thread."""
    stand_in: bool = False
    """Whether no language model answers: such answers keep the loop going and are no result."""
    judge: str | None = None
    """Identity of what graded the answers; None in rows of version 1."""
    abstention: bool | None = None
    """True where the prompt offers to say that a matter never came up."""


class Run(Stored):
    """What a row was made with: the same for all rows of a file."""

    system: str
    """Name and options of the system."""
    package: str
    """Name of the package."""
    package_sha256: str | None = None
    """Hash of its thread and questions; None in rows of version 1."""
    dataset: str | None = None
    """Name of the data set."""
    records_sha256: str | None = None
    """Hash of the records, or of the data set's file."""
    target: int | None = None
    """Length of the thread as it was asked for."""
    track: str | None = None
    """Name of the package's track; None for other data sets, and in older rows."""
    stream_turns: int | None = None
    """Turns of the thread."""
    embedder: str | None = None
    """Identity of the embedder."""
    model: str | None = None
    """Identity of the language model that the system itself uses."""
    reader: Reader | None = None
    """Who answers; None for retrieval alone."""
    scaleqa: str | None = None
    """Version of this package; None in rows of version 1."""

    def continues(self, other: "Run") -> bool:
        """Returns whether rows of this run may follow rows of another one.

        Whatever the other one does not say, as rows of version 1, does not count.
        """
        said = other.model_dump(exclude_none=True)
        own = self.model_dump()
        if self.reader:
            own["reader"] = self.reader.model_dump(exclude_none=True)
        if other.reader and self.reader and other.reader.judge is None:
            own["reader"].pop("judge", None)
        known = {name: own[name] for name in said}
        return known == said and (own["model"], own["reader"] is None) == (
            other.model,
            other.reader is None,
        )


class UnitRow(Stored):
    """A retrieved unit."""

    turns: tuple[int, ...]
    score: float
    label: str = ""
    why: str = ""


class Detail(Stored):
    """What takes much room: kept for reading one question closely."""

    context: str
    """The text handed to the reader."""
    units: tuple[UnitRow, ...]
    """What was retrieved, best first."""
    shown: tuple[int, ...]
    """Ids of the turns that are whole in the context, or of which it has the part that is marked as
    evidence."""
    reply: str | None = None
    """The reply as it came; None without a reader."""
    rationale: str | None = None
    """The reason that the reply gives."""


class Answered(Stored):
    """The answer to a question."""

    answer: str | None = None
    """The answer as read from the reply; None if it gave none."""
    correct: bool
    abstained: bool | None = None
    """Whether it says that the matter never came up; None where the prompt does not offer that."""
    rationale_similarity: float | None = None
    """Cosine of rationale and gold reasoning, 0 without a rationale; None without a gold one."""
    prompt_tokens: int = 0
    """Tokens that the provider counted in, 0 where it does not say."""
    completion_tokens: int = 0
    cost_usd: float | None = None
    """Price of these tokens, where one was given."""


class Account(Stored):
    """What a system read, built and kept for a package, after its first question."""

    turns: int
    """Turns of the thread."""
    words: int
    """Words of the thread."""
    vectors: int
    indexed_words: int
    """Words of all indexed texts, copies counted."""
    embedded_texts: int
    """Texts that were embedded to take in the thread."""


class Timing(Stored):
    """What may differ between two runs of the same thing."""

    date: str | None = None
    """The day, in UTC."""
    retrieve_ms: float
    """Retrieving, without the embedding of texts, which is cached and shared by all systems."""
    ingest_ms: float | None = None
    """Taking in the thread, likewise; with the account."""
    answer_ms: float | None = None
    """Waiting for the reply."""
    cached: bool = False
    """Whether the reply was known from before."""


class Row(Stored):
    """One question."""

    version: Literal[2] = VERSION
    run: Run
    id: str
    place: int
    """Place among the questions of the package."""
    question: str
    options: Mapping[str, str] | None = None
    grader: str = "letter"
    """The judge that grades answers."""
    gold: str | None = None
    """The right answer."""
    domain: str | None = None
    split: str | None = None
    stress: tuple[str, ...] = ()
    reasoning: str | None = None
    evidence: tuple[int, ...]
    """Ids of the evidence turns; none if the matter never came up in the thread."""
    evidence_texts: tuple[str, ...] = ()
    """What they say."""
    hit: bool
    """Whether all evidence is in the context: every evidence turn, or the part of it that is marked
    as evidence; False without evidence."""
    partly: bool | None = None
    """Whether some of every evidence turn is in the context; None in older rows."""
    recalled: bool
    """Whether the best five units hold all evidence; False without evidence."""
    together: bool | None = None
    """Whether one unit holds all evidence; None where it is one turn."""
    sessions_shown: bool | None = None
    """Whether every dialogue with evidence is in the context, if only in part; None without
    evidence in a dialogue, and in older rows."""
    views: Mapping[str, bool] = {}
    """Whether each view of the system leads to evidence."""
    evidence_shown: int
    """Evidence turns in the context."""
    turns_shown: int
    """Turns in the context."""
    exchanges_shown: int = 0
    """Those of them that are earlier exchanges."""
    context_tokens: int
    relevance: float | None = None
    """Highest probability among the units of holding what was asked; None if none is given."""
    rewritten: bool = False
    """Whether the context has texts of the system's own, of which `hit` and `recalled` say nothing:
    a memory of a turn is not the turn."""
    llm_calls: int | None = None
    """Calls of a language model by the system itself since the row before, ingest included."""
    answered: Answered | None = None
    judged: Mapping[str, bool] | None = None
    """What further judges say of the answer, by their identity; kept in files beside the rows."""
    account: Account | None = None
    """On the first row of a package: later, exchanges have been written back."""
    timing: Timing
    detail: Detail | None = None

    @property
    def present(self) -> bool:
        """Whether the matter of the question came up in the thread."""
        return bool(self.evidence)

    @property
    def may_abstain(self) -> bool:
        """Whether the prompt offers to say that the matter never came up."""
        return bool(self.run.reader and self.run.reader.abstention)

    @property
    def silent(self) -> bool:
        """Whether the system returned nothing."""
        return self.context_tokens == 0

    @property
    def credit(self) -> float:
        """What the paper gives an unanswered question: the chance of a right guess."""
        return 1 / len(self.options) if self.options else 0.0
