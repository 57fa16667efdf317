"""Rows as logs of Inspect: one log for the rows of a system on a package.

Ids are hashes of what was run, and dates are those of the rows, so that the same rows make the
same log. Rows know the day, not the hour.
"""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalPlan,
    EvalPlanStep,
    EvalResults,
    EvalSample,
    EvalSpec,
    EvalStats,
    recompute_metrics,
)
from inspect_ai.log._log import EvalMetricDefinition, EvalScorer
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score

from scaleqa.bridges.inspect.samples import asked, choices, described, retrieved
from scaleqa.bridges.inspect.scoring import answer_score, credit_score, hit_score
from scaleqa.errors import DataError
from scaleqa.evaluate.grading import filled
from scaleqa.evaluate.rows import Row, Run
from scaleqa.figures.scores import counts
from scaleqa.judges import Verdict
from scaleqa.prompts import template

# What Inspect calls it when there is no model.
NO_MODEL = "none/none"
# The day of rows that do not say theirs.
UNKNOWN = "1970-01-01"
# What differs between the logs of a run.
OF_ONE_LOG = ("system", "package", "package_sha256", "stream_turns")
# The scores of a log, and the metric of each; those of `scoring.py`.
ANSWERS, CREDITED, HITS = "answers", "credited", "hits"
MEASURES = {ANSWERS: "accuracy", CREDITED: "mean", HITS: "accuracy"}


def log_of(rows: Sequence[Row]) -> EvalLog:
    """Returns the log of the rows of one system on one package.

    Raises:
        DataError: There are none, or they are of several runs.
    """
    if not rows or any(row.run != rows[0].run for row in rows):
        raise DataError(
            f"{len(rows)} rows of {len({row.run.model_dump_json() for row in rows})} runs cannot "
            "be one log; expected those of one system on one package"
        )
    run = rows[0].run
    days = [row.timing.date or UNKNOWN for row in rows]
    graded = all(map(counts, rows))
    task_id = short_hash(run.model_dump_json())
    samples = [_sample(row, task_id, graded) for row in rows]
    log = EvalLog(
        status="success",
        eval=_spec(rows, samples, min(days), task_id),
        plan=EvalPlan(steps=[EvalPlanStep(solver=run.system)]),
        results=EvalResults(total_samples=len(rows), completed_samples=len(rows)),
        stats=EvalStats(
            started_at=_time(min(days)), completed_at=_time(max(days)), model_usage=_usage(rows)
        ),
        samples=samples,
    )
    recompute_metrics(log)
    return log


def short_hash(text: str) -> str:
    """Returns an id of the length of Inspect's own."""
    return hashlib.sha256(text.encode()).hexdigest()[:22]


def _spec(rows: Sequence[Row], samples: Sequence[EvalSample], day: str, task_id: str) -> EvalSpec:
    run = rows[0].run
    said = run.model_dump(exclude_none=True)
    shared = {name: value for name, value in said.items() if name not in OF_ONE_LOG}
    ids = [row.id for row in rows]
    return EvalSpec(
        eval_id=short_hash(f"{task_id} {' '.join(ids)}"),
        run_id=short_hash(json.dumps(shared, sort_keys=True)),
        created=_time(day),
        task=f"scaleqa/{run.system}",
        task_id=task_id,
        task_version=run.scaleqa or 0,
        task_args={"system": run.system, "package": run.package},
        solver=run.system,
        dataset=EvalDataset(
            name=f"{run.dataset or 'scaleqa'}/{run.package}",
            samples=len(rows),
            sample_ids=ids,
            shuffled=False,
        ),
        model=_model(run),
        config=EvalConfig(epochs=1, max_samples=1),
        packages={"inspect_ai": version("inspect_ai"), "scaleqa": run.scaleqa or "unknown"},
        metadata={
            **said,
            "account": rows[0].account.model_dump() if rows[0].account else None,
            "dates": sorted({row.timing.date for row in rows if row.timing.date}),
        },
        scorers=[_scorer(name) for name in samples[0].scores or ()],
    )


def _scorer(name: str) -> EvalScorer:
    measure = MEASURES[name]
    options = {
        "metric": {"type": "metric", "name": measure, "params": {}},
        "group_key": "domain",
        "all": False,
    }
    return EvalScorer(
        name=name,
        metrics=[
            EvalMetricDefinition(name=f"inspect_ai/{measure}", options={}),
            EvalMetricDefinition(name="inspect_ai/stderr", options={}),
            EvalMetricDefinition(name="inspect_ai/grouped", options=options),
        ],
    )


def _sample(row: Row, task_id: str, graded: bool) -> EvalSample:
    uuid = short_hash(f"{task_id} {row.id}")
    took = row.timing.retrieve_ms + (row.timing.answer_ms or 0.0)
    day = _time(row.timing.date or UNKNOWN)
    context = {"context": row.detail.context, "shown": [*row.detail.shown]} if row.detail else {}
    units = [unit.model_dump() for unit in row.detail.units] if row.detail else []
    return EvalSample(
        id=row.id,
        epoch=1,
        input=asked(row),
        choices=choices(row),
        target=row.gold or "",
        messages=_messages(row, uuid),
        output=_output(row, uuid),
        scores=_scores(row, graded),
        metadata={
            "package": row.run.package,
            "package_sha256": row.run.package_sha256,
            "dataset": row.run.dataset,
            "track": row.run.track,
            "place": row.place,
            "evidence_texts": [*row.evidence_texts],
            **described(row),
            **retrieved(row),
            **context,
            "units": units,
            "views": dict(row.views),
            "answered": row.answered.model_dump() if row.answered else None,
        },
        model_usage=_usage([row]),
        started_at=day,
        completed_at=day,
        total_time=took / 1000,
        working_time=took / 1000,
        uuid=uuid,
    )


def _scores(row: Row, graded: bool) -> dict[str, Score]:
    scores: dict[str, Score] = {}
    if graded and row.answered and row.run.reader:
        said = row.detail.rationale if row.detail else None
        verdict = Verdict(
            answer=row.answered.answer,
            correct=row.answered.correct,
            rationale=said or "",
            abstained=bool(row.answered.abstained),
        )
        scored = row.present or bool(row.run.reader.abstention)
        scores[ANSWERS] = answer_score(verdict, row.run.reader.judge, scored=scored)
        if row.options:
            scores[CREDITED] = credit_score(verdict, len(row.options), present=row.present)
    return {**scores, HITS: hit_score(row.hit if row.present else None)}


def _messages(row: Row, uuid: str) -> list[ChatMessage]:
    messages: list[ChatMessage] = [ChatMessageUser(id=f"{uuid}-user", content=_prompt(row))]
    if row.detail and row.detail.reply is not None:
        messages.append(_reply(row, uuid, row.detail.reply))
    return messages


def _prompt(row: Row) -> str:
    """Returns the prompt if it is known to the letter, otherwise what was put into it."""
    if row.detail is None:
        return asked(row)
    if row.run.reader:
        name, _, sha256 = row.run.reader.prompt.partition("/")
        with suppress(DataError):  # a prompt of another version
            prompt = template(name)
            if prompt.sha256[:12] == sha256:
                return filled(prompt, row, row.detail.context)
    return f"{row.detail.context}\n\n{asked(row)}"


def _reply(row: Row, uuid: str, text: str) -> ChatMessageAssistant:
    return ChatMessageAssistant(
        id=f"{uuid}-reply", content=text, model=_model(row.run), source="generate"
    )


def _output(row: Row, uuid: str) -> ModelOutput:
    if row.answered is None or row.detail is None or row.detail.reply is None:
        return ModelOutput(model=_model(row.run))
    message = _reply(row, uuid, row.detail.reply)
    return ModelOutput(
        model=_model(row.run),
        choices=[ChatCompletionChoice(message=message, stop_reason="stop")],
        usage=_usage([row]).get(_model(row.run)),
        time=(row.timing.answer_ms or 0.0) / 1000,
    )


def _usage(rows: Sequence[Row]) -> dict[str, ModelUsage]:
    answered = [row.answered for row in rows if row.answered]
    into = sum(one.prompt_tokens for one in answered)
    out = sum(one.completion_tokens for one in answered)
    if not into + out:
        return {}
    usage = ModelUsage(input_tokens=into, output_tokens=out, total_tokens=into + out)
    return {_model(rows[0].run): usage}


def _model(run: Run) -> str:
    return run.reader.backend if run.reader else NO_MODEL


def _time(day: str) -> Any:
    return f"{day}T00:00:00+00:00"
