"""Retrieval: is the evidence found, whole and together, and what is kept for it?"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scaleqa.evaluate.rows import Account, Row
from scaleqa.figures.paired import Compared, compared
from scaleqa.figures.presence import one_track, present, silent
from scaleqa.figures.relevance import Relevance, relevance
from scaleqa.figures.scores import llm_calls
from scaleqa.figures.shares import Share, share
from scaleqa.figures.spread import spread


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
    """A system's retrieval: over the questions whose evidence is in the thread, unless noted.

    Attributes:
        system: Its name and options.
        track: The track of the questions; None for other data sets.
        recalled: The best five units hold all evidence.
        in_context: The context holds all evidence.
        partly: The context holds some of every evidence turn; None where rows do not say.
        together: One unit holds all evidence, of questions with several evidence turns; None where
            there are none.
        sessions: Every dialogue with evidence is in the context, if only in part; None where rows
            do not say.
        views: Each view leads to evidence.
        context_tokens: Mean length of the context.
        silent: Nothing is returned, of questions whose matter never came up; None where there are
            none.
        relevance: What its relevances are worth, over all questions; None where it gives none.
        kept: What it keeps; None where rows do not say.
    """

    system: str
    track: str | None
    recalled: Share
    in_context: Share
    partly: Share | None
    together: Share | None
    sessions: Share | None
    views: Mapping[str, Share]
    context_tokens: float
    silent: Share | None
    relevance: Relevance | None
    kept: Kept | None

    @property
    def questions(self) -> int:
        """How many questions with evidence in the thread were asked."""
        return self.in_context.questions

    def as_json(self) -> dict[str, Any]:
        """Returns the figures for programs."""
        return {
            "system": self.system,
            "track": self.track,
            "questions": self.questions,
            "recalled": self.recalled.as_json(),
            "in_context": self.in_context.as_json(),
            "partly": self.partly.as_json() if self.partly else None,
            "together": self.together.as_json() if self.together else None,
            "sessions": self.sessions.as_json() if self.sessions else None,
            "views": {name: share.as_json() for name, share in self.views.items()},
            "context_tokens": self.context_tokens,
            "silent": self.silent.as_json() if self.silent else None,
            "relevance": asdict(self.relevance) if self.relevance else None,
            "kept": asdict(self.kept) if self.kept else None,
        }


def retrieval(rows: Sequence[Row]) -> Retrieval:
    """Computes the figures of one system, of rows from all packages.

    Raises:
        DataError: The rows are of several tracks, or no question has evidence in the thread.
    """
    asked = present(rows)
    together = [row.together for row in asked if row.together is not None]
    partly = [row.partly for row in asked if row.partly is not None]
    sessions = [row.sessions_shown for row in asked if row.sessions_shown is not None]
    names = sorted({name for row in asked for name in row.views})
    return Retrieval(
        system=rows[0].run.system,
        track=one_track(rows),
        recalled=share(row.recalled for row in asked),
        in_context=share(row.hit for row in asked),
        partly=share(partly) if len(partly) == len(asked) else None,
        together=share(together) if together else None,
        sessions=share(sessions) if len(sessions) == len(asked) else None,
        views={name: share(row.views.get(name, False) for row in asked) for name in names},
        context_tokens=statistics.mean(row.context_tokens for row in asked),
        silent=silent(rows),
        relevance=relevance(rows),
        kept=_kept(rows),
    )


def in_context_by(rows: Sequence[Row], part: Callable[[Row], str | None]) -> dict[str, Share]:
    """Shares of questions with all evidence in the context, by a part of the questions."""
    parts: dict[str, list[bool]] = {}
    for row in present(rows):
        name = part(row)
        if name is not None:
            parts.setdefault(name, []).append(row.hit)
    return {name: share(parts[name]) for name in sorted(parts)}


def against(rows: Sequence[Row], first: Sequence[Row], measure: str = "hit") -> Compared:
    """Compares rows of a system with those of another, on the questions of both."""
    theirs = {(row.run.package, row.id): row for row in first}
    pairs = [
        (row, theirs[row.run.package, row.id])
        for row in present(rows)
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
