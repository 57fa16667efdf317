"""Figures from rows."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.evaluate.rows import Row
from scaleqa.stats import Interval, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What a run scored.

    Attributes:
        questions: Rows.
        accuracy: As the paper counts it: an unanswered question earns a quarter.
        strict_accuracy: Right answers over all questions.
        strict_interval: Wilson's 95 % interval of it.
        unanswered: Share without a valid letter.
        hit: Share with all evidence in the context along the closed loop.
        hit_interval: Wilson's 95 % interval of it.
        rationale_similarity: Mean cosine of rationale and gold reasoning, 0 where one is missing;
            None if the rows do not tell.
        audit: Answered questions by hit and correctness, as shares of all.
        context_tokens: Mean length of the context.
        exchange_share: Share of shown turns that were earlier exchanges.
        prompt_tokens: All that the provider counted in.
        completion_tokens: All that it counted out.
        cost_usd: What these tokens cost, cached or not; None if no price was named.
        cached: Share of replies that were found in the cache.
    """

    questions: int
    accuracy: float
    strict_accuracy: float
    strict_interval: Interval
    unanswered: float
    hit: float
    hit_interval: Interval
    rationale_similarity: float | None
    audit: dict[str, float]
    context_tokens: float
    exchange_share: float
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    cached: float


def score(rows: Sequence[Row]) -> Scores:
    """Computes the figures of a run."""
    count = len(rows)
    right = sum(row["correct"] for row in rows)
    silent = sum(row["answer"] is None for row in rows)
    hits = sum(row["hit"] for row in rows)
    similar = [row["rationale_similarity"] for row in rows if "rationale_similarity" in row]
    shown = sum(len(row["shown"]) for row in rows)
    audit = {
        f"{'hit' if hit else 'miss'}_{'correct' if correct else 'wrong'}": sum(
            row["answer"] is not None and row["hit"] == hit and row["correct"] == correct
            for row in rows
        )
        / count
        for hit in (True, False)
        for correct in (True, False)
    }
    return Scores(
        questions=count,
        accuracy=(right + silent / 4) / count,
        strict_accuracy=right / count,
        strict_interval=wilson(right, count),
        unanswered=silent / count,
        hit=hits / count,
        hit_interval=wilson(hits, count),
        rationale_similarity=statistics.fmean(similar) if len(similar) == count else None,
        audit=audit,
        context_tokens=statistics.mean(row["context_tokens"] for row in rows),
        exchange_share=sum(row["shown_from_exchanges"] for row in rows) / shown if shown else 0.0,
        prompt_tokens=sum(row.get("prompt_tokens", 0) for row in rows),
        completion_tokens=sum(row.get("completion_tokens", 0) for row in rows),
        cost_usd=_cost(rows),
        cached=sum(row.get("cached", False) for row in rows) / count,
    )


def _cost(rows: Sequence[Row]) -> float | None:
    costs = [row.get("cost_usd") for row in rows]
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 6) if len(known) == len(costs) else None
