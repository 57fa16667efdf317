"""Free text, graded by a language model with prompts that are files with a version."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from scaleqa.backends import ChatModel, Message, Reply
from scaleqa.errors import DataError
from scaleqa.judges.declaration import JudgeDeclaration, required
from scaleqa.judges.protocol import Task, Verdict
from scaleqa.judges.reply import abstains, answer_of, rationale_of, settled
from scaleqa.prompts import Template, template

TOKENS = 10
YES = re.compile(r"\W*yes\b", re.IGNORECASE)
PLACES = frozenset(("question", "gold", "answer"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """What a model is asked about an answer, and how its words are understood.

    Attributes:
        name: What the judge and its prompts are called in rows.
        prompts: The prompts, for the hash in the judge's identity.
        write: Puts a task and an answer into the prompt that fits them.
        right: Whether the model's words say that the answer is correct.
        forms: Whether a fixed form of abstention decides without asking.
    """

    name: str
    prompts: tuple[Template, ...]
    write: Callable[[Task, str], str]
    right: Callable[[str], bool]
    forms: bool = True

    @property
    def sha256(self) -> str:
        """A hash of all prompts; that of the prompt if there is one."""
        if len(self.prompts) == 1:
            return self.prompts[0].sha256
        joined = "".join(prompt.sha256 for prompt in self.prompts)
        return hashlib.sha256(joined.encode()).hexdigest()


class ModelJudge:
    """Asks a chat model whether an answer is correct.

    The three steps are public, so that somebody else can be asked by file: `request` says what to
    ask, and `heard` what follows from the words that come back.
    """

    def __init__(self, rubric: Rubric, model: ChatModel) -> None:
        """Keeps both."""
        self._rubric = rubric
        self._model = model

    @property
    def identity(self) -> str:
        """The prompts, their hash, and the model."""
        return f"{self._rubric.name}/{self._rubric.sha256[:12]}/{self._model.identity}"

    def request(self, task: Task, reply: str) -> str | Verdict:
        """Returns the prompt about a reply, or the verdict if there is nothing to ask.

        Raises:
            DataError: The prompts do not fit the question.
        """
        answer = answer_of(reply)
        known = settled(task, reply, answer) if self._rubric.forms or answer is None else None
        return known or self._rubric.write(task, answer or "")

    def heard(self, task: Task, reply: str, said: Reply) -> Verdict:
        """Returns the verdict that a model's words mean."""
        return Verdict(
            answer=None if abstains(task, reply) else answer_of(reply),
            correct=self._rubric.right(said.text),
            rationale=rationale_of(reply),
            abstained=abstains(task, reply),
            heard=said,
        )

    def grade(self, task: Task, reply: str) -> Verdict:
        """Grades a reply with the model; a missing answer is wrong without asking it."""
        asked = self.request(task, reply)
        if isinstance(asked, Verdict):
            return asked
        said = self._model.chat([Message(role="user", content=asked)], most_tokens=TOKENS)
        return self.heard(task, reply, said)


def says_yes(said: str) -> bool:
    """Returns whether a reply begins with yes."""
    return bool(YES.match(said))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Who is asked."""

    model: Annotated[
        str | None,
        Field(description="Chat model, such as openai:MODEL@BASE_URL; by default that of --with."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptOptions(ModelOptions):
    """Who is asked, and how."""

    prompt: Annotated[
        str,
        Field(description="judge.v1, judge-lenient.v1, judge-strict.v1 or judge-locomo.v1."),
    ] = "judge.v1"


def _rubric(name: str) -> Rubric:
    prompt = template(name)
    if prompt.places != PLACES:
        raise DataError(
            f"prompt {name} has the places {', '.join(sorted(prompt.places))}, and that of a judge "
            f"has {', '.join(sorted(PLACES))}; choose judge.v1, or see: scaleqa judges judge"
        )

    def write(task: Task, answer: str) -> str:
        return prompt.fill(question=task.question, gold=task.gold, answer=answer)

    return Rubric(name=f"judge/{name}", prompts=(prompt,), write=write, right=says_yes)


def _make(options: PromptOptions, model: ChatModel | None) -> ModelJudge:
    return ModelJudge(_rubric(options.prompt), required(model))


JUDGE = JudgeDeclaration(
    name="judge",
    summary="A language model says whether the answer is correct, by one of several prompts.",
    example="judge:model=openai:gpt-4o-mini,prompt=judge-strict.v1",
    options=PromptOptions,
    make=_make,
    asks=True,
)
