"""What a system's contexts and answers took."""

from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.evaluate.rows import Row
from scaleqa.figures.groups import Group
from scaleqa.figures.scores import cost, llm_calls
from scaleqa.figures.spread import spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a system's requests took.

    Attributes:
        system: Its name and options.
        questions: Questions asked.
        context_tokens: Tokens of all contexts, by the benchmark's count.
        prompt_tokens: Tokens the provider counted in; 0 where it does not say.
        completion_tokens: Tokens the provider counted out.
        retrieve_p50_ms: Median time to retrieve, without the embedding of texts.
        retrieve_p95_ms: 95th percentile.
        answer_p50_ms: Median time to answer; None where nobody answered.
        answer_p95_ms: 95th percentile.
        llm_calls: Calls the system itself made, ingest and write-back included; None where rows do
            not say.
        cost_usd: Price of all answers; None where rows do not say.
    """

    system: str
    questions: int
    context_tokens: int
    prompt_tokens: int
    completion_tokens: int
    retrieve_p50_ms: float
    retrieve_p95_ms: float
    answer_p50_ms: float | None
    answer_p95_ms: float | None
    llm_calls: int | None
    cost_usd: float | None


def cost_table(group: Group) -> list[Cost]:
    """Adds up tokens, times and prices."""
    return [_cost(name, rows) for name, rows in group.rows.items()]


def _cost(name: str, rows: Sequence[Row]) -> Cost:
    answers = [row.answered for row in rows if row.answered]
    times = [row.timing.answer_ms for row in rows if row.timing.answer_ms is not None]
    retrieve = spread([row.timing.retrieve_ms for row in rows])
    answer = spread(times) if times else None
    return Cost(
        system=name,
        questions=len(rows),
        context_tokens=sum(row.context_tokens for row in rows),
        prompt_tokens=sum(one.prompt_tokens for one in answers),
        completion_tokens=sum(one.completion_tokens for one in answers),
        retrieve_p50_ms=retrieve.median,
        retrieve_p95_ms=retrieve.p95,
        answer_p50_ms=answer.median if answer else None,
        answer_p95_ms=answer.p95 if answer else None,
        llm_calls=llm_calls(rows),
        cost_usd=cost(rows),
    )
