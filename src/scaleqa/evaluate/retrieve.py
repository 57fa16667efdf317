"""Retrieval without an answer model: is the evidence there, whole, and at what cost?"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from scaleqa.backends import ChatModel, Counted
from scaleqa.evaluate.tools import tools_for
from scaleqa.packages import Package
from scaleqa.stats import Interval, wilson
from scaleqa.systems import Asked, System, open_system
from tsim import tokens
from tsim.embed import Embedder

TOP = 5
CHUNK = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """What a system found for one question.

    Attributes:
        id: The question.
        recalled: Whether the best five units together hold all evidence.
        in_context: Whether all evidence is in the context.
        together: Whether one unit holds all evidence; None where one turn is all there is.
        views: Whether each view leads to evidence.
        context_tokens: Length of the context.
        milliseconds: What retrieving took, the query's embedding included.
    """

    id: str
    recalled: bool
    in_context: bool
    together: bool | None
    views: Mapping[str, bool]
    context_tokens: int
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A system's retrieval on one package.

    Attributes:
        results: Question by question.
        turns: Turns of the thread.
        words: Words of the thread.
        ingest_ms: What taking in the thread took.
        vectors: Vectors kept.
        indexed_words: Words indexed, copies counted.
        llm_calls: Calls of a language model, for ingest and requests.
    """

    results: list[QueryResult]
    turns: int
    words: int
    ingest_ms: float
    vectors: int
    indexed_words: int
    llm_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """A system's retrieval over all questions.

    Attributes:
        system: Its name and options.
        questions: How many were asked.
        recall_at_5: Share for which the best five units hold all evidence.
        recall_interval: Wilson's 95 % interval of it.
        recall_in_context: Share for which the context holds all evidence.
        co_containment: Share of several-turn questions with all evidence in one unit.
        view_hit_rates: Share for which each view leads to evidence.
        context_tokens: Mean length of the context.
        ingest_ms_per_turn: Ingest, embedding included.
        retrieve_p50_ms: Median time of a request.
        retrieve_p95_ms: 95th percentile.
        vectors: Vectors kept, summed over packages.
        text_amplification: Words indexed over words read.
        llm_calls: Calls of a language model, summed over packages.
        results: Question by question.
    """

    system: str
    questions: int
    recall_at_5: float
    recall_interval: Interval
    recall_in_context: float
    co_containment: float | None
    view_hit_rates: dict[str, float]
    context_tokens: float
    ingest_ms_per_turn: float
    retrieve_p50_ms: float
    retrieve_p95_ms: float
    vectors: int
    text_amplification: float
    llm_calls: int = 0
    results: list[QueryResult] = field(default_factory=list)


def diagnose(
    packages: Sequence[Package],
    spec: str,
    embedder: Embedder,
    *,
    model: ChatModel | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """Feeds each package to a fresh system and asks all its questions, without writing back."""
    total = sum(len(p.stream) + len(p.queries) for p in packages)
    parts: list[Part] = []
    before = 0
    for package in packages:

        def note(done: int, _: int, before: int = before) -> None:
            if progress:
                progress(before + done, total)

        parts.append(diagnose_package(package, spec, embedder, model=model, progress=note))
        before += len(package.stream) + len(package.queries)
    return summarise(spec, parts)


def diagnose_package(
    package: Package,
    spec: str,
    embedder: Embedder,
    *,
    model: ChatModel | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Part:
    """Feeds one package to a fresh system and asks all its questions, without writing back."""
    total = len(package.stream) + len(package.queries)
    counted = Counted(model) if model else None
    system = open_system(spec, tools_for(package, embedder, counted))
    results: list[QueryResult] = []
    seconds = 0.0
    try:
        for start in range(0, len(package.stream), CHUNK):
            some = package.stream[start : start + CHUNK]
            began = time.perf_counter()
            system.ingest(some)
            seconds += time.perf_counter() - began
            if progress:
                progress(start + len(some), total)
        for number, query in enumerate(package.queries, 1):
            asked = Asked(id=query.id, question=query.question, options=query.options)
            results.append(_ask(system, asked, query.evidence))
            if progress:
                progress(len(package.stream) + number, total)
        account = system.account()
    finally:
        system.close()
    return Part(
        results=results,
        turns=len(package.stream),
        words=sum(len(turn.text.split()) for turn in package.stream),
        ingest_ms=1000 * seconds,
        vectors=account.vectors,
        indexed_words=account.indexed_words,
        llm_calls=counted.calls if counted else 0,
    )


def _ask(system: System, asked: Asked, evidence: tuple[int, ...]) -> QueryResult:
    began = time.perf_counter()
    found = system.retrieve(asked)
    took = 1000 * (time.perf_counter() - began)
    gold = set(evidence)
    covered = {turn for unit in found.units[:TOP] for turn in unit.turns}
    together = any(gold <= set(unit.turns) for unit in found.units) if len(gold) > 1 else None
    return QueryResult(
        id=asked.id,
        recalled=gold <= covered,
        in_context=gold <= found.shown,
        together=together,
        views={name: bool(gold & turns) for name, turns in system.views(asked).items()},
        context_tokens=tokens.estimate(found.context),
        milliseconds=took,
    )


def summarise(spec: str, parts: Sequence[Part]) -> Diagnosis:
    """Puts the packages of a setting together."""
    results = [result for part in parts for result in part.results]
    count = len(results)
    recalled = sum(result.recalled for result in results)
    together = [result.together for result in results if result.together is not None]
    names = sorted({name for result in results for name in result.views})
    times = sorted(result.milliseconds for result in results)
    return Diagnosis(
        system=spec,
        questions=count,
        recall_at_5=round(recalled / count, 4),
        recall_interval=wilson(recalled, count),
        recall_in_context=round(sum(result.in_context for result in results) / count, 4),
        co_containment=round(sum(together) / len(together), 4) if together else None,
        view_hit_rates={
            name: round(sum(result.views.get(name, False) for result in results) / count, 4)
            for name in names
        },
        context_tokens=round(statistics.mean(result.context_tokens for result in results), 1),
        ingest_ms_per_turn=round(sum(p.ingest_ms for p in parts) / sum(p.turns for p in parts), 3),
        retrieve_p50_ms=round(statistics.median(times), 3),
        retrieve_p95_ms=round(times[int(0.95 * (count - 1))], 3),
        vectors=sum(part.vectors for part in parts),
        text_amplification=round(
            sum(part.indexed_words for part in parts) / sum(part.words for part in parts), 3
        ),
        llm_calls=sum(part.llm_calls for part in parts),
        results=results,
    )
