"""Runs and their rows."""

from pathlib import Path
from typing import Any

from scaleqa.backends import Backend, ChatModel
from scaleqa.evaluate import Reading, Row, RunSettings
from scaleqa.evaluate.rowfile import read_row
from scaleqa.prompts import template

ANSWER = template("answer.v1")


def loop(
    backend: Backend,
    system: str = "standard_rag",
    *,
    model: ChatModel | None = None,
    **changes: Any,
) -> RunSettings:
    """A run of the closed loop."""
    reading = Reading(backend=backend, template=ANSWER, **changes)
    return RunSettings(system=system, reading=reading, model=model)


def without_times(rows: list[Row]) -> list[dict[str, Any]]:
    """Rows without what differs from one run to the next."""
    return [row.model_dump(exclude={"timing"}) for row in rows]


def former_row(
    number: int = 0,
    system: str = "tsim_late",
    *,
    answer: str | None = "A",
    hit: bool = True,
    exchanges: int = 0,
    package: str = "batch-01",
    **more: Any,
) -> dict[str, Any]:
    """A row of version 1, of a package whose questions all have gold A and evidence 3 and 5."""
    shown = [3, 5, 8] if hit else [3, 8]
    shown += [100 + n for n in range(exchanges)]
    target = more.pop("target", 16_000)
    backend = more.pop("backend", "gpt-4o-mini@u")
    return {
        "run": {
            "system": system, "package": package, "records_sha256": "r", "backend": backend,
            "prompt": "answer.v1/0", "writeback": True, "model": None,
        },
        "id": f"{package}-{number:03d}", "domain": "Legal", "split": "s1", "stress": ["trap"],
        "question": "Which?", "options": dict(zip("ABCD", "wxyz", strict=True)),
        "reasoning": "Since w.", "gold": "A", "answer": answer, "correct": answer == "A",
        "rationale": "w it is", "raw": "ANSWER", "evidence": [3, 5],
        "evidence_texts": ["first", "second"], "hit": hit, "shown": shown,
        "shown_from_exchanges": exchanges,
        "units": [{"turns": shown, "score": 1.0, "label": "unit 1", "why": "raw 1"}],
        "context": "user: first\nmodel: hm\nuser: second", "context_tokens": 10,
        "prompt_tokens": 20, "completion_tokens": 5, "retrieve_ms": 1.0, "answer_ms": 2.0,
        "target": target, "stream_turns": 100, "embedder": "all-MiniLM-L6-v2@x/mean/256",
        "rationale_similarity": 0.5, "llm_calls": 0, "place": number, **more,
    }  # fmt: skip


# What systems were called in rows of version 1.
FORMER = {"tsim": "tsim_late", "tsim_official": "tsim"}


def row(number: int = 0, system: str = "tsim", **changes: Any) -> Row:
    """The same as a row of the present version; systems by their present names."""
    old = former_row(number, FORMER.get(system, system), **changes)
    return read_row(old, Path("made"), number)
