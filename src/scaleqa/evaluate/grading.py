"""Reading and grading: from a question to a request, from a reply to an answer in its row."""

from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.backends import Backend, ChatModel, Price, Reply, Request
from scaleqa.errors import DataError
from scaleqa.evaluate.rows import Answered, Row
from scaleqa.judges import Judge, ModelJudge, Task, open_judge
from scaleqa.packages import Package, Question
from scaleqa.prompts import Template, template
from scaleqa.systems import Retrieved
from tsim.embed import Embedder

# The prompt of the paper's four options, of other choices, and of free answers.
FOUR, CHOICE, FREE = "answer.v1", "choice.v1", "free-answer.v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How questions are answered.

    Attributes:
        backend: What answers.
        template: The prompt.
        writeback: Whether exchanges become part of the thread.
        price: What the backend's tokens cost, where known.
        judge_model: A chat model, for questions that one grades.
    """

    backend: Backend
    template: Template
    writeback: bool = True
    price: Price | None = None
    judge_model: ChatModel | None = None


class Grading:
    """Makes requests of questions, and answers of replies."""

    def __init__(self, reading: Reading, package: Package, embedder: Embedder) -> None:
        """Opens the judge of the package's questions.

        Raises:
            DataError: The prompt does not fit the questions, or they cannot be graded.
        """
        graders = sorted({question.grader for question in package.questions})
        if len(graders) != 1:
            raise DataError(
                f"the questions of {package.name} are graded in {len(graders)} ways "
                f"({', '.join(graders)}); a package has one"
            )
        self.reading = reading
        self.judge: Judge = open_judge(graders[0], reading.judge_model)
        self._embedder = embedder
        check_prompt(reading.template, package)
        if isinstance(self.judge, ModelJudge):
            for question in package.questions:
                self.judge.request(_task(question, reading.template), question.answer or "")

    def request(self, question: Question, found: Retrieved) -> Request:
        """Puts question and context into the prompt."""
        return Request(
            prompt=filled(self.reading.template, question, found.context),
            context=found.context,
            question=question.question,
            options=question.options,
        )

    def graded(self, asked: Row, reply: Reply, seconds: float = 0.0) -> Row:
        """Returns the row with the answer."""
        price = self.reading.price
        return graded(asked, reply, self.judge, self._embedder, price=price, seconds=seconds)


def chosen_template(prompt: str | None, packages: Sequence[Package]) -> Template:
    """Returns the prompt of a name, or the one that fits the questions."""
    asked = [question.options for package in packages for question in package.questions]
    letters = {"".join(options) for options in asked if options}
    fitting = FREE if None in asked else FOUR if letters == {"ABCD"} else CHOICE
    return template(prompt or fitting)


def check_prompt(prompt: Template, package: Package) -> None:
    """Checks that questions can be put into a prompt and graded.

    Raises:
        DataError: The prompt does not fit a question, or there is no answer to grade by.
    """
    choices = "options" in prompt.places
    for question in package.questions:
        if (question.options is not None) != choices:
            has, wants = ("has", "does not ask for") if not choices else ("has no", "asks for")
            raise DataError(
                f"question {question.id} {has} options, and prompt {prompt.name} "
                f"{wants} them; choose answer.v1, choice.v1 or choice-or-absent.v1 for questions "
                "with options, free-answer.v1 or free-answer.v2 for others"
            )
        if question.answer is None:
            raise DataError(
                f"question {question.id} has no right answer to grade by; measure retrieval "
                "alone with: scaleqa retrieve"
            )


def filled(prompt: Template, question: Question | Row, context: str) -> str:
    """Puts a question and its context into a prompt."""
    parts = {"context": context, "question": question.question}
    if question.options is not None:
        parts["options"] = written_options(question)
        parts["letters"] = _alternatives([*question.options])
    return prompt.fill(**parts)


def graded(
    asked: Row,
    reply: Reply,
    judge: Judge,
    embedder: Embedder,
    *,
    price: Price | None = None,
    seconds: float = 0.0,
) -> Row:
    """Returns the whole row: what was asked, with the answer and what it took.

    Args:
        asked: The row without an answer.
        reply: The backend's reply.
        judge: Grades it.
        embedder: Compares the rationale with the gold reasoning.
        price: What tokens cost, where known.
        seconds: How long the reply took.
    """
    task = task_of(asked)
    verdict = judge.grade(task, reply.text)
    answered = Answered(
        answer=verdict.answer,
        correct=verdict.correct,
        abstained=verdict.abstained if task.may_abstain else None,
        rationale_similarity=_similarity(embedder, verdict.rationale, asked.reasoning),
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        cost_usd=price.of(reply) if price else None,
    )
    timing = asked.timing.model_copy(
        update={"answer_ms": round(1000 * seconds, 3), "cached": reply.cached}
    )
    update: dict[str, object] = {"answered": answered, "timing": timing}
    if asked.detail:
        said = {"reply": reply.text, "rationale": verdict.rationale}
        update["detail"] = asked.detail.model_copy(update=said)
    return asked.model_copy(update=update)


def task_of(row: Row) -> Task:
    """Returns what the reply in a row is graded against."""
    return Task(
        question=row.question,
        gold=row.gold or "",
        options=row.options,
        kind=row.domain,
        absent=not row.present,
        may_abstain=row.may_abstain,
    )


def _task(question: Question, template: Template) -> Task:
    """Returns what replies to a question will be graded against."""
    return Task(
        question=question.question,
        gold=question.answer or "",
        options=question.options,
        kind=question.domain,
        absent=not question.evidence,
        may_abstain=template.offers_abstention,
    )


def _similarity(embedder: Embedder, rationale: str, reasoning: str | None) -> float | None:
    if reasoning is None:
        return None
    if not rationale.strip() or not reasoning.strip():
        return 0.0
    said, gold = embedder.embed([rationale, reasoning])
    return round(float(said.astype("float64") @ gold.astype("float64")), 6)


def _alternatives(letters: Sequence[str]) -> str:
    *others, last = letters
    return f"{', '.join(others)} or {last}" if others else last


def written_options(question: Question | Row) -> str:
    """Writes the options of a question, one per line."""
    return "\n".join(f"{letter}) {option}" for letter, option in (question.options or {}).items())
