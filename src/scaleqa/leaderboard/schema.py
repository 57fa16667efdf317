"""What a result says: one system on one data set, with the figures that follow from its rows.

A result is a directory with `result.json` (this schema), `rows.jsonl.gz` (rows as `scaleqa run` and
`scaleqa retrieve` write them), and `verdicts.jsonl.gz` where further judges graded the answers.
Optional fields may be added to a version; whatever changes what a field means is a new one.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from scaleqa.evaluate.rows import Stored

SCHEMA: Literal[1] = 1
# What others wrote is shown on pages of ours: one line, without what Markdown or HTML acts on.
Line = Annotated[str, StringConstraints(max_length=300, pattern=r"^[^\x00-\x1f\x7f<>`|\[\]]*$")]
Link = Annotated[
    str, StringConstraints(max_length=300, pattern=r"^https?://[^\s\x00-\x1f\x7f<>`|\[\]()\"']+$")
]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Share = Annotated[float, Field(ge=0, le=1)]


class Figure(Stored):
    """A figure with its 95 % interval, to six places."""

    value: float
    low: float
    high: float


class System(Stored):
    """What was measured."""

    spec: Line
    """Name and options, as `--system` takes them."""
    name: Line
    options: Mapping[Line, Line] = {}
    version: Line | None = None
    """Version of the system; systems that ship with scaleqa have its version."""
    link: Link | None = None
    """Where it is described."""
    model: Line | None = None
    """Identity of the language model that the system itself uses."""


class PackageOf(Stored):
    """A thread with its questions."""

    name: Line
    sha256: Sha256
    turns: int | None = None
    questions: int
    """How many of its questions were asked: all, but for a sample."""


class Data(Stored):
    """What it was measured on."""

    dataset: Line
    spec: Line | None = None
    """The data set as `scaleqa retrieve` takes it: packages are rebuilt from this to be checked."""
    track: Line | None = None
    splits: tuple[Line, ...] = ()
    target: int | None = None
    """Tokens of a thread, as asked for."""
    records_sha256: Line | None = None
    packages: tuple[PackageOf, ...] = Field(min_length=1)


class Asked(Stored):
    """How many questions were asked, of how many."""

    asked: int
    of: int
    """Questions of the data set without a choice of some; as many as asked if it is not named."""
    seed: int | None = None
    """Seed of the choice that the data set names; None if it names none."""
    sample_seed: int | None = None
    """Seed of the sample, as `scaleqa batch export --sample` draws it; None if all questions of the
    data set were asked."""


class Reader(Stored):
    """Who answered."""

    model: Line
    prompt: Line
    """Name and hash of the prompt."""
    writeback: bool
    """Whether exchanges became part of the thread."""


class Judge(Stored):
    """Who graded the answers, and what they are worth by this judge."""

    identity: Line
    prompt: Line | None = None
    """Name and hash of its prompt; None if it has none."""
    strict: Figure
    """Right answers over all questions, by this judge."""


class Sensitivity(Stored):
    """How much strict accuracy depends on who judges."""

    judges: Annotated[int, Field(ge=2)]
    lowest: Share
    highest: Share


class Figures(Stored):
    """Of questions whose evidence is in the thread, unless noted. Totals have no interval."""

    questions: int
    """Questions whose evidence is in the thread."""
    in_context: Figure
    """Share with all evidence in the context; Wilson's interval, as of all shares."""
    strict: Figure | None = None
    """Right answers over all questions."""
    credited: Figure | None = None
    """The same, an unanswered question earning the chance of a right guess."""
    unanswered: Figure | None = None
    silent: Figure | None = None
    """Share for which nothing was retrieved, of questions whose matter never came up."""
    context_tokens: Figure
    """Mean length of the context."""
    search_p50_ms: Figure
    """Median time of a search, without the embedding of texts."""
    ingest_ms_per_turn: float | None = None
    """Mean time to take in a turn, likewise."""
    llm_calls: int | None = None
    """Calls of a language model by the system itself, in total; None where rows do not say."""
    cost_usd: float | None = None
    """Price of all answers; None where rows do not say."""


class Result(Stored):
    """A result, as in `result.json`."""

    schema_version: Literal[1] = SCHEMA
    system: System
    scaleqa: Line
    """Version of scaleqa that made the rows."""
    data: Data
    embedder: Line | None = None
    reader: Reader | None = None
    """Who answered; None for retrieval alone."""
    judges: tuple[Judge, ...] = ()
    """The one whose verdicts are in the rows, then others; none for retrieval alone."""
    judge_sensitivity: Sensitivity | None = None
    """None with fewer than two judges."""
    questions: Asked
    figures: Figures
    date: Line
    """The day of the last row."""
    rows_sha256: Sha256
    """Hash of the rows, unpacked."""
    note: Line = ""


class Verdict(Stored):
    """What a further judge found about an answer: a line of `verdicts.jsonl.gz`."""

    judge: Line
    """Identity of the judge."""
    prompt: Line | None = None
    package: Line
    id: Line
    correct: bool


class Receipt(Stored):
    """Says that a system was run again and did the same: `recomputed.json`."""

    rows_sha256: Sha256
    """The rows that it was compared with."""
    scaleqa: Line
    """Version that ran it again."""
    questions: int
    seed: int


def json_schema() -> dict[str, Any]:
    """Returns the JSON Schema of `result.json`."""
    return Result.model_json_schema()
