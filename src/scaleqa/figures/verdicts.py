"""Verdicts of judges by system: shares, mean scores, and what they cost."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from scaleqa.evaluate.verdicts import Judgement
from scaleqa.figures.shares import share
from scaleqa.stats import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a judge says of a system's answers, present and absent matters together.

    Attributes:
        judge: The judge.
        system: The system.
        answers: Answers it graded.
        correct: The share that it finds right.
        interval: Wilson's 95 % interval of it.
        score: Mean score of judges that give one; None of others.
        asked: Answers about which a model was asked.
        prompt_tokens: All tokens that the provider counted in.
        completion_tokens: All tokens that it counted out.
        cost_usd: What they cost; None where no price was given.
    """

    judge: str
    system: str
    answers: int
    correct: float
    interval: Interval
    score: float | None
    asked: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


def summed(found: Iterable[tuple[str, str, Judgement]]) -> list[Judged]:
    """Adds up verdicts by judge and system, ordered by name."""
    parts: dict[tuple[str, str], list[Judgement]] = {}
    for judge, system, one in found:
        parts.setdefault((judge, system), []).append(one)
    return [_judged(judge, system, some) for (judge, system), some in sorted(parts.items())]


def _judged(judge: str, system: str, some: list[Judgement]) -> Judged:
    right = share(one.correct for one in some)
    costs = [one.cost_usd for one in some if one.said is not None]
    known = [cost for cost in costs if cost is not None]
    scored = any(one.score is not None for one in some)
    return Judged(
        judge=judge,
        system=system,
        answers=len(some),
        correct=right.value,
        interval=right.interval,
        score=statistics.fmean(_score(one) for one in some) if scored else None,
        asked=len(costs),
        prompt_tokens=sum(one.prompt_tokens for one in some),
        completion_tokens=sum(one.completion_tokens for one in some),
        cost_usd=round(sum(known), 6) if known and len(known) == len(costs) else None,
    )


def _score(one: Judgement) -> float:
    """What was settled without comparing counts as it was settled."""
    return float(one.correct) if one.score is None else one.score
