"""What one system scored."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.evaluate.rows import Answered, Row
from scaleqa.figures.abstaining import Abstaining, abstaining
from scaleqa.figures.judging import accuracies
from scaleqa.figures.presence import one_track, present, silent
from scaleqa.figures.shares import Share
from scaleqa.stats import Interval, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What the answers scored.

    Attributes:
        accuracy: As the paper counts it: an unanswered question earns the chance of a right guess.
        accuracy_interval: Wilson's 95 % interval of it.
        strict_accuracy: Right answers over all questions.
        strict_interval: Wilson's 95 % interval of it.
        unanswered: Share without a valid answer that did not abstain either.
        rationale_similarity: Mean cosine of rationale and gold reasoning, 0 where one is missing;
            None if some rows do not have it.
        audit: Answered questions by hit and correctness, as shares of all.
        prompt_tokens: All tokens that the provider counted in.
        completion_tokens: All tokens that it counted out.
        cost_usd: What these tokens cost, cached or not; None if no price was given.
        cached: Share of replies that were found in the cache.
        judges: Right answers over all questions by judge: that of the run, and those who graded
            all its answers again.
    """

    accuracy: float
    accuracy_interval: Interval
    strict_accuracy: float
    strict_interval: Interval
    unanswered: float
    rationale_similarity: float | None
    audit: dict[str, float]
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    cached: float
    judges: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What a system scored: on the questions whose evidence is in the thread, unless noted.

    Attributes:
        track: The track of the questions; None for other data sets.
        questions: Number of questions.
        judged: Whether contexts have turns, and not texts of the system's own, of which it cannot
            be said whether they hold evidence. Otherwise these count as none.
        hit: Share with all evidence in the context.
        hit_interval: Wilson's 95 % interval of it.
        context_tokens: Mean length of the context.
        exchange_share: Share of the shown turns that are earlier exchanges.
        silent: Nothing was retrieved, of questions whose matter never came up; None where there
            are none.
        answers: What the answers scored; None where nobody answered, or no language model did.
        abstaining: How well answers told absent matters from others, where they could say so; None
            elsewhere.
    """

    track: str | None
    questions: int
    judged: bool
    hit: float
    hit_interval: Interval
    context_tokens: float
    exchange_share: float
    silent: Share | None
    answers: Answers | None
    abstaining: Abstaining | None = None


def score(rows: Sequence[Row]) -> Scores:
    """Computes the scores of a system.

    Raises:
        DataError: The rows are of several tracks, or no question has evidence in the thread.
    """
    asked = present(rows)
    hits = sum(row.hit for row in asked)
    shown = sum(row.turns_shown for row in asked)
    exchanges = sum(row.exchanges_shown for row in asked)
    return Scores(
        track=one_track(rows),
        questions=len(asked),
        judged=not any(row.rewritten for row in asked),
        hit=hits / len(asked),
        hit_interval=wilson(hits, len(asked)),
        context_tokens=statistics.mean(row.context_tokens for row in asked),
        exchange_share=exchanges / shown if shown else 0.0,
        silent=silent(rows),
        answers=_answers(asked, rows) if all(map(counts, rows)) else None,
        abstaining=abstaining(rows) if all(map(counts, rows)) else None,
    )


def counts(row: Row) -> bool:
    """Returns whether a row has an answer that counts as a result: a language model gave it."""
    reader = row.run.reader
    return row.answered is not None and reader is not None and not reader.stand_in


def earned(row: Row) -> float:
    """What an answer earns as the paper counts: unanswered, the chance of a right guess.

    The paper's prompts do not offer to abstain; whoever does has answered.
    """
    if row.answered is None or (row.answered.answer is None and not row.answered.abstained):
        return row.credit
    return float(row.answered.correct)


def accuracy(rows: Sequence[Row]) -> float:
    """Mean of what answers earn."""
    return sum(map(earned, rows)) / len(rows)


def _answers(rows: Sequence[Row], every: Sequence[Row]) -> Answers:
    """Scores the answers to some questions; what answers cost is of all that were given."""
    count = len(rows)
    pairs = [(row.hit, row.answered) for row in rows if row.answered]
    given = [(hit, one) for hit, one in pairs if one.answer is not None]
    declined = sum(bool(one.abstained) for _, one in pairs)
    answers = [one for _, one in pairs]
    right = sum(one.correct for one in answers)
    similar = [one.rationale_similarity for one in answers]
    known = [value for value in similar if value is not None]
    credit = sum(map(earned, rows))
    return Answers(
        accuracy=credit / count,
        accuracy_interval=wilson(credit, count),
        strict_accuracy=right / count,
        strict_interval=wilson(right, count),
        unanswered=1 - (len(given) + declined) / count,
        rationale_similarity=statistics.fmean(known) if len(known) == count else None,
        audit=_audit(given, count),
        prompt_tokens=sum(row.answered.prompt_tokens for row in every if row.answered),
        completion_tokens=sum(row.answered.completion_tokens for row in every if row.answered),
        cost_usd=cost(every),
        cached=sum(row.timing.cached for row in every) / len(every),
        judges=accuracies(rows),
    )


def cost(rows: Sequence[Row]) -> float | None:
    """Adds up the prices of answers; None if some have none."""
    costs = [row.answered.cost_usd if row.answered else None for row in rows]
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 6) if len(known) == len(costs) else None


def llm_calls(rows: Sequence[Row]) -> int | None:
    """Adds up the calls that a system made itself; None if some rows do not say."""
    calls = [row.llm_calls for row in rows]
    known = [count for count in calls if count is not None]
    return sum(known) if len(known) == len(calls) else None


def _audit(given: Sequence[tuple[bool, Answered]], count: int) -> dict[str, float]:
    return {
        f"{'hit' if hit else 'miss'}_{'correct' if correct else 'wrong'}": sum(
            (found, one.correct) == (hit, correct) for found, one in given
        )
        / count
        for hit in (True, False)
        for correct in (True, False)
    }
