"""Scores: answers by our judges, and whether the evidence was in the context.

`answers` is strict: right answers over all questions. `credited` is what the paper counts: an
unanswered question earns the chance of a right guess. It is a score of its own, because Inspect
reduces scores to numbers before it computes metrics. A question whose matter never came up in the
thread has none of these.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from anyio import from_thread, to_thread
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    get_model,
)
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    Metric,
    Score,
    Scorer,
    Target,
    accuracy,
    grouped,
    mean,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState

from scaleqa.backends import Function, Message, Reply
from scaleqa.backends.protocol import MOST_TOKENS
from scaleqa.judges import Task, Verdict, open_judge

ABSENT = "absent"


def by_domain(measure: Metric) -> Metric:
    """Computes a metric for each domain."""
    return grouped(measure, "domain", all=False)


@scorer(metrics=[accuracy(), stderr(), by_domain(accuracy())])
def answers() -> Scorer:
    """Grades answers with the judges of their questions; models grade in the role `grader`."""

    async def score(state: TaskState, target: Target) -> Score:
        verdict, judge = await _verdict(state, target)
        about = state.metadata
        return answer_score(verdict, judge, scored=bool(about["evidence"] or about["may_abstain"]))

    return score


@scorer(metrics=[mean(), stderr(), by_domain(mean())])
def credited() -> Scorer:
    """Grades choices as the paper does: unanswered, they earn the chance of a right guess."""

    async def score(state: TaskState, target: Target) -> Score:
        verdict, _ = await _verdict(state, target)
        options = len(state.metadata["options"])
        return credit_score(verdict, options, present=bool(state.metadata["evidence"]))

    return score


@scorer(metrics=[accuracy(), stderr(), by_domain(accuracy())])
def hits() -> Scorer:
    """Says whether all evidence was in the context."""

    async def score(state: TaskState, target: Target) -> Score:
        return hit_score(state.metadata["hit"])

    return score


def answer_score(verdict: Verdict, judge: str | None, *, scored: bool) -> Score:
    """Returns the score of an answer.

    Args:
        verdict: What the judge found.
        judge: Identity of the judge.
        scored: Whether there is a right answer: the matter of the question came up in the thread,
            or the prompt offers to say that it did not.
    """
    said = verdict.rationale or None
    about = {"judge": judge}
    if not scored:
        return Score.unscored(
            reason=ABSENT, answer=verdict.answer, explanation=said, metadata=about
        )
    value = CORRECT if verdict.correct else INCORRECT
    if verdict.answer is None and not verdict.abstained:
        value = NOANSWER
    return Score(value=value, answer=verdict.answer, explanation=said, metadata=about)


def credit_score(verdict: Verdict, options: int, *, present: bool) -> Score:
    """Returns what an answer earns as the paper counts.

    Args:
        verdict: What the judge found.
        options: Number of options.
        present: Whether the matter of the question came up in the thread.
    """
    if not present:
        return Score.unscored(reason=ABSENT, answer=verdict.answer)
    silent = verdict.answer is None and not verdict.abstained
    earned = 1 / options if silent else float(verdict.correct)
    return Score(value=earned, answer=verdict.answer)


def hit_score(hit: bool | None) -> Score:
    """Returns the score of a retrieval; None if there is no evidence."""
    if hit is None:
        return Score.unscored(reason=ABSENT)
    return Score(value=CORRECT if hit else INCORRECT)


class _Grader:
    """A model of Inspect as a chat model of ours, for judges, which run in threads."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def identity(self) -> str:
        """The model."""
        return str(self._model)

    def chat(
        self,
        messages: Sequence[Message],
        functions: Sequence[Function] = (),
        *,
        most_tokens: int = MOST_TOKENS,
        response_format: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Returns the next message of a chat."""
        output = from_thread.run(self._generate, messages, most_tokens)
        return Reply(text=output)

    def close(self) -> None:
        """Leaves the model to Inspect."""

    async def _generate(self, messages: Sequence[Message], most_tokens: int) -> str:
        given = [_message(message) for message in messages]
        config = GenerateConfig(temperature=0.0, max_tokens=most_tokens)
        return (await self._model.generate(given, config=config)).completion


def _message(message: Message) -> ChatMessage:
    if message.role == "system":
        return ChatMessageSystem(content=message.content)
    if message.role == "assistant":
        return ChatMessageAssistant(content=message.content)
    return ChatMessageUser(content=message.content)


async def _verdict(state: TaskState, target: Target) -> tuple[Verdict, str]:
    """Grades the answer; returns the verdict and the identity of the judge."""
    about = state.metadata
    judge = open_judge(about["grader"], _Grader(get_model(role="grader")))
    task = Task(
        question=about["question"],
        gold=target.text,
        options=about["options"],
        kind=about["domain"],
        absent=not about["evidence"],
        may_abstain=about["may_abstain"],
    )
    return await to_thread.run_sync(judge.grade, task, state.output.completion), judge.identity
