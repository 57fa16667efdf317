"""The closed loop: retrieve, ask, grade, write back, next.

A fresh system takes in a package's thread. For each question in order it retrieves, the backend
answers, and the exchange (the request as asked; the answer with its rationale) becomes two more
turns of the thread. A run that was killed goes on where it stopped: exchanges that have rows are
told to the fresh system again, without asking anybody.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scaleqa.backends import Backend, ChatModel, Counted, Price, Reply, Request
from scaleqa.errors import DataError
from scaleqa.evaluate.parse import parse
from scaleqa.evaluate.rows import Row, RowFile
from scaleqa.evaluate.tools import tools_for
from scaleqa.packages import Package, Query, StreamTurn
from scaleqa.prompts import Template
from scaleqa.systems import Asked, Exchange, Retrieved, System, open_system
from tsim import tokens
from tsim.embed import Embedder

CHUNK = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """How a run goes.

    Attributes:
        system: Name and options of the system.
        template: The prompt.
        writeback: Whether exchanges become part of the thread.
        model: A language model for the system's own use.
        price: What the answer model's tokens cost, where known.
    """

    system: str
    template: Template
    writeback: bool = True
    model: ChatModel | None = None
    price: Price | None = None


def run_packages(
    packages: Sequence[Package],
    settings: LoopSettings,
    backend: Backend,
    embedder: Embedder,
    out: Path,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Runs one system on all packages, several at once, and returns all rows in order."""
    total = sum(len(package.queries) for package in packages)
    done = dict.fromkeys((package.name for package in packages), 0)

    def run_one(package: Package) -> list[Row]:
        def note(count: int, _: int) -> None:
            done[package.name] = count
            if progress:
                progress(sum(done.values()), total)

        return run_package(package, settings, backend, embedder, out, progress=note)

    with ThreadPoolExecutor(workers) as pool:
        return [row for rows in pool.map(run_one, packages) for row in rows]


def run_package(
    package: Package,
    settings: LoopSettings,
    backend: Backend,
    embedder: Embedder,
    out: Path,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Runs one system on one package and returns its rows, the old and the new.

    Raises:
        DataError: The rows that are there belong to another run.
    """
    rows = RowFile(row_path(out, settings.system, package.name))
    try:
        _check(rows, package, settings, backend, embedder)
        if len(rows.rows) < len(package.queries):
            _run(package, settings, backend, embedder, rows, progress)
        return rows.rows
    finally:
        rows.close()


def row_path(out: Path, system: str, package: str) -> Path:
    """Returns the file for the rows of a system on a package."""
    return out / re.sub(r"[^\w.=-]+", "_", system) / f"{package}.jsonl"


def _check(
    rows: RowFile, package: Package, settings: LoopSettings, backend: Backend, embedder: Embedder
) -> None:
    expected = [query.id for query in package.queries]
    found = [row["id"] for row in rows.rows]
    run = _run_identity(package, settings, backend.identity)
    around = _surroundings(package, embedder)
    same = all(
        row["run"] == run and all(row.get(name, value) == value for name, value in around.items())
        for row in rows.rows
    )
    if found != expected[: len(found)] or not same:
        raise DataError(
            f"{rows.path} holds rows of another run (package, length, prompt, backend, embedder or "
            "write-back differ); choose another --out"
        )


def _run_identity(package: Package, settings: LoopSettings, backend: str) -> dict[str, Any]:
    return {
        "system": settings.system,
        "package": package.name,
        "records_sha256": package.settings.get("records_sha256", ""),
        "backend": backend,
        "prompt": f"{settings.template.name}/{settings.template.sha256[:12]}",
        "writeback": settings.writeback,
        "model": settings.model.identity if settings.model else None,
    }


def _surroundings(package: Package, embedder: Embedder) -> dict[str, Any]:
    return {
        "target": package.settings.get("target"),
        "stream_turns": len(package.stream),
        "embedder": embedder.identity,
    }


def _run(
    package: Package,
    settings: LoopSettings,
    backend: Backend,
    embedder: Embedder,
    rows: RowFile,
    progress: Callable[[int, int], None] | None,
) -> None:
    with fed_system(package, settings, embedder) as fed:
        done = len(rows.rows)
        for number, query in enumerate(package.queries):
            if number < done:
                row = rows.rows[number]
                fed.calls()  # they are in that row
            else:
                asked, request = fed.ask(query, backend.identity)
                began = time.perf_counter()
                reply = backend.reply(request)
                seconds = 0.0 if reply.cached else time.perf_counter() - began
                row = grade(asked, reply, seconds, embedder, settings.price)
                rows.append(row)
            if settings.writeback:
                fed.system.observe(_exchange(package, number, query, row))
            if progress:
                progress(number + 1, len(package.queries))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fed:
    """A system that has taken in a package's thread."""

    package: Package
    settings: LoopSettings
    embedder: Embedder
    system: System
    model: Counted | None

    def ask(self, query: Query, backend: str) -> tuple[Row, Request]:
        """Retrieves; returns what a row holds before the answer, and what the backend is asked."""
        asked = Asked(id=query.id, question=query.question, options=query.options)
        began = time.perf_counter()
        found = self.system.retrieve(asked)
        took = time.perf_counter() - began
        row = {
            "run": _run_identity(self.package, self.settings, backend),
            **_surroundings(self.package, self.embedder),
            "id": query.id,
            "domain": query.domain,
            "split": query.split,
            "stress": list(query.stress),
            "question": query.question,
            "options": query.options,
            "reasoning": query.reasoning,
            "gold": query.answer,
            **_evidence(self.package, query, found),
            "context": found.context,
            "context_tokens": tokens.estimate(found.context),
            "retrieve_ms": round(1000 * took, 3),
            "llm_calls": self.calls(),
        }
        prompt = self.settings.template.fill(
            context=found.context, question=query.question, options=_options(query)
        )
        return row, Request(
            prompt=prompt, context=found.context, question=query.question, options=query.options
        )

    def calls(self) -> int:
        """Returns how often the system asked its model since this was last called."""
        if self.model is None:
            return 0
        calls, self.model.calls = self.model.calls, 0
        return calls


@contextmanager
def fed_system(package: Package, settings: LoopSettings, embedder: Embedder) -> Iterator[Fed]:
    """Opens a fresh system that has taken in a package's thread."""
    model = Counted(settings.model) if settings.model else None
    system = open_system(settings.system, tools_for(package, embedder, model))
    try:
        for start in range(0, len(package.stream), CHUNK):
            system.ingest(package.stream[start : start + CHUNK])
        yield Fed(package=package, settings=settings, embedder=embedder, system=system, model=model)
    finally:
        system.close()


def grade(asked: Row, reply: Reply, seconds: float, embedder: Embedder, price: Price | None) -> Row:
    """Returns the whole row: what was asked, with the answer and what it took."""
    parsed = parse(reply.text)
    return {
        **asked,
        "answer": parsed.letter,
        "correct": parsed.letter == asked["gold"],
        "rationale": parsed.rationale,
        "rationale_similarity": _similarity(embedder, parsed.rationale, asked["reasoning"]),
        "raw": reply.text,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "cost_usd": price.of(reply) if price else None,
        "cached": reply.cached,
        "answer_ms": round(1000 * seconds, 3),
    }


def _evidence(package: Package, query: Query, found: Retrieved) -> dict[str, Any]:
    return {
        "evidence": list(query.evidence),
        "evidence_texts": [package.stream[turn].text for turn in query.evidence],
        "hit": set(query.evidence) <= found.shown,
        "units": [
            {
                "turns": list(unit.turns),
                "score": round(unit.score, 6),
                "label": unit.label,
                "why": unit.why,
            }
            for unit in found.units
        ],
        "shown": sorted(found.shown),
        "shown_from_exchanges": sum(turn >= len(package.stream) for turn in found.shown),
    }


def _similarity(embedder: Embedder, rationale: str, reasoning: str) -> float:
    if not rationale.strip() or not reasoning.strip():
        return 0.0
    said, gold = embedder.embed([rationale, reasoning])
    return round(float(said.astype("float64") @ gold.astype("float64")), 6)


def _exchange(package: Package, number: int, query: Query, row: Row) -> Exchange:
    first = len(package.stream) + 2 * number
    said = f"{row['answer'] or 'I cannot tell.'}"
    text = f"{said}. {row['rationale']}".strip() if row["rationale"] else said
    return Exchange(
        turns=(
            StreamTurn(id=first, role="user", text=f"{query.question}\n{_options(query)}"),
            StreamTurn(id=first + 1, role="model", text=text),
        )
    )


def _options(query: Query) -> str:
    return "\n".join(f"{letter}) {option}" for letter, option in query.options.items())
