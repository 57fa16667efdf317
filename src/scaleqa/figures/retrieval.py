"""Retrieval: is the evidence found, whole and together, and what is kept for it?"""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scaleqa.evaluate.rows import Account, Row
from scaleqa.figures.paired import Compared, compared
from scaleqa.figures.scores import llm_calls
from scaleqa.figures.spread import spread
from scaleqa.stats import Interval, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of some questions, with Wilson's 95 % interval."""

    found: int
    questions: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.found / self.questions

    @property
    def interval(self) -> Interval:
        """Wilson's interval."""
        return wilson(self.found, self.questions)

    def as_json(self) -> dict[str, Any]:
        """Returns the figures for programs."""
        return {"value": self.value, "interval": self.interval, "questions": self.questions}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a system built and kept; times are without the embedding of texts.

    Attributes:
        vectors: Vectors, summed over packages.
        text_amplification: Words indexed over words read.
        embedded_texts: Texts embedded to take in the threads, over the turns of the threads.
        ingest_ms_per_turn: Mean time to take in a turn.
        retrieve_p50_ms: Median time of a request.
        retrieve_p95_ms: 95th percentile.
        llm_calls: Calls of a language model; None where rows do not say.
    """

    vectors: int
    text_amplification: float
    embedded_texts: float
    ingest_ms_per_turn: float
    retrieve_p50_ms: float
    retrieve_p95_ms: float
    llm_calls: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """A system's retrieval over all questions.

    Attributes:
        system: Its name and options.
        recalled: The best five units hold all evidence.
        in_context: The context holds all evidence.
        together: One unit holds all evidence, of questions with several evidence turns; None where
            there are none.
        views: Each view leads to evidence.
        context_tokens: Mean length of the context.
        kept: What it keeps; None where rows do not say.
    """

    system: str
    recalled: Share
    in_context: Share
    together: Share | None
    views: Mapping[str, Share]
    context_tokens: float
    kept: Kept | None

    @property
    def questions(self) -> int:
        """How many questions were asked."""
        return self.in_context.questions

    def as_json(self) -> dict[str, Any]:
        """Returns the figures for programs."""
        return {
            "system": self.system,
            "questions": self.questions,
            "recalled": self.recalled.as_json(),
            "in_context": self.in_context.as_json(),
            "together": self.together.as_json() if self.together else None,
            "views": {name: share.as_json() for name, share in self.views.items()},
            "context_tokens": self.context_tokens,
            "kept": asdict(self.kept) if self.kept else None,
        }


def retrieval(rows: Sequence[Row]) -> Retrieval:
    """Computes the figures of one system, of rows from all packages."""
    together = [row.together for row in rows if row.together is not None]
    names = sorted({name for row in rows for name in row.views})
    return Retrieval(
        system=rows[0].run.system,
        recalled=share(row.recalled for row in rows),
        in_context=share(row.hit for row in rows),
        together=share(together) if together else None,
        views={name: share(row.views.get(name, False) for row in rows) for name in names},
        context_tokens=statistics.mean(row.context_tokens for row in rows),
        kept=_kept(rows),
    )


def share(values: Iterable[bool]) -> Share:
    """Counts how often something is so."""
    known = list(values)
    return Share(found=sum(known), questions=len(known))


def in_context_by(rows: Sequence[Row], part: Callable[[Row], str | None]) -> dict[str, Share]:
    """Shares of questions with all evidence in the context, by a part of the questions."""
    parts: dict[str, list[bool]] = {}
    for row in rows:
        name = part(row)
        if name is not None:
            parts.setdefault(name, []).append(row.hit)
    return {name: share(parts[name]) for name in sorted(parts)}


def against(rows: Sequence[Row], first: Sequence[Row], measure: str = "hit") -> Compared:
    """Compares rows of a system with those of another, on the questions of both."""
    theirs = {(row.run.package, row.id): row for row in first}
    pairs = [
        (row, theirs[row.run.package, row.id])
        for row in rows
        if (row.run.package, row.id) in theirs
    ]
    return compared(measure, pairs)


def _kept(rows: Sequence[Row]) -> Kept | None:
    accounts = [row.account for row in rows if row.account]
    ingest = [row.timing.ingest_ms for row in rows if row.timing.ingest_ms is not None]
    if len(accounts) != len({row.run.package for row in rows}):
        return None
    times = spread([row.timing.retrieve_ms for row in rows])
    turns = _total(accounts, "turns")
    return Kept(
        vectors=_total(accounts, "vectors"),
        text_amplification=_total(accounts, "indexed_words") / _total(accounts, "words"),
        embedded_texts=_total(accounts, "embedded_texts") / turns,
        ingest_ms_per_turn=sum(ingest) / turns,
        retrieve_p50_ms=times.median,
        retrieve_p95_ms=times.p95,
        llm_calls=llm_calls(rows),
    )


def _total(accounts: Sequence[Account], name: str) -> int:
    return sum(getattr(account, name) for account in accounts)
