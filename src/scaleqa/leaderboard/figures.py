"""Pure: the figures of a result, from its rows."""

from collections.abc import Sequence

from scaleqa.evaluate.rows import Row
from scaleqa.figures.presence import present
from scaleqa.figures.retrieval import retrieval
from scaleqa.figures.scores import cost, llm_calls, score
from scaleqa.leaderboard.schema import Figure, Figures, Judge, Sensitivity, Verdict
from scaleqa.stats import Interval, mean_interval, median_interval, wilson

PLACES = 6


def figures_of(rows: Sequence[Row]) -> Figures:
    """Computes the figures of a result.

    Raises:
        DataError: The rows are of several tracks, or no question has evidence in the thread.
    """
    scores, found, asked = score(rows), retrieval(rows), present(rows)
    answers = scores.answers
    times = [row.timing.retrieve_ms for row in rows]
    middle, around = median_interval(times)
    tokens = [row.context_tokens for row in asked]
    ingest = found.kept.ingest_ms_per_turn if found.kept else None
    silent = scores.silent
    return Figures(
        questions=scores.questions,
        in_context=figure(scores.hit, scores.hit_interval),
        strict=figure(answers.strict_accuracy, answers.strict_interval) if answers else None,
        credited=figure(answers.accuracy, answers.accuracy_interval) if answers else None,
        unanswered=_share(round(answers.unanswered * len(asked)), len(asked)) if answers else None,
        silent=figure(silent.value, silent.interval) if silent else None,
        context_tokens=figure(scores.context_tokens, mean_interval(tokens)),
        search_p50_ms=figure(middle, around),
        ingest_ms_per_turn=None if ingest is None else round(ingest, PLACES),
        llm_calls=llm_calls(rows),
        cost_usd=cost(rows) if answers else None,
    )


def own_judge(rows: Sequence[Row]) -> Judge | None:
    """Names the judge whose verdicts are in the rows; None without answers."""
    reader, answers = rows[0].run.reader, score(rows).answers
    if reader is None or answers is None:
        return None
    identity = reader.judge or rows[0].grader
    strict = figure(answers.strict_accuracy, answers.strict_interval)
    return Judge(identity=identity, prompt=_prompt(identity), strict=strict)


def further_judge(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> Judge:
    """Counts the verdicts of another judge, who graded all of these rows."""
    asked = {(row.run.package, row.id) for row in present(rows)}
    right = sum(one.correct for one in verdicts if (one.package, one.id) in asked)
    first = verdicts[0]
    prompt = first.prompt or _prompt(first.judge)
    return Judge(identity=first.judge, prompt=prompt, strict=_share(right, len(asked)))


def sensitivity(judges: Sequence[Judge]) -> Sensitivity | None:
    """Says how far judges are apart; None with fewer than two."""
    values = [judge.strict.value for judge in judges]
    if len(values) < 2:
        return None
    return Sensitivity(judges=len(values), lowest=min(values), highest=max(values))


def figure(value: float, interval: Interval) -> Figure:
    """Rounds a figure and its interval: the same on every machine."""
    low, high = interval
    return Figure(value=round(value, PLACES), low=round(low, PLACES), high=round(high, PLACES))


def _share(found: int, of: int) -> Figure:
    return figure(found / of, wilson(found, of))


def _prompt(identity: str) -> str | None:
    """The prompt in the identity of a language model that judges: `judge/NAME/HASH/MODEL`."""
    parts = identity.split("/")
    return "/".join(parts[1:3]) if parts[0] == "judge" and len(parts) > 3 else None
