"""Figures about retrieval: what pages about it are made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scaleqa import paper
from scaleqa.report.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of questions with its 95 % interval."""

    questions: int
    value: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """A system less the first one, on the same questions.

    Attributes:
        difference: Of the share with all evidence in context.
        interval: Its 95 % interval, by a paired bootstrap.
        mcnemar_p: Exact two-sided p-value.
    """

    difference: float
    interval: tuple[float, float]
    mcnemar_p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a system keeps and takes.

    Attributes:
        vectors: Vectors kept.
        amplification: Words indexed over words read.
        ingest_ms: Milliseconds to take in a turn.
        p50_ms: Median milliseconds of a request.
        p95_ms: 95th percentile.
    """

    vectors: int
    amplification: float
    ingest_ms: float
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """A system's line on the page.

    Attributes:
        system: Its name and options.
        recall: All evidence in the best five units.
        in_context: All evidence in the context.
        together: All evidence in one unit, of questions with several evidence turns.
        tokens: Mean tokens of a context.
        groups: `in_context` by group of questions.
        against: The difference to the first system; None for that one.
        cost: What it keeps and takes.
        views: Share of questions for which each view leads to evidence.
    """

    system: str
    recall: Share
    in_context: Share
    together: float | None = None
    tokens: float
    groups: Mapping[str, Share] = field(default_factory=dict)
    against: Against | None = None
    cost: Cost | None = None
    views: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was run.

    Attributes:
        title: Title of the page.
        command: How a user gets the same page.
        embedder: Identity of the embedder.
        facts: What else there is to know about data and machine.
        grouping: What groups of questions are: `domain` or `type of question`.
        target: Length of the threads, where the paper has figures for it.
        beside: Figures of the paper that are not about our own systems.
        provenance: Where the figures come from.
    """

    title: str
    command: str
    embedder: str
    facts: tuple[tuple[str, str], ...] = ()
    grouping: str = "domain"
    target: int | None = None
    beside: paper.Printed[str, paper.Transferred] | None = None
    provenance: Provenance | None = None
