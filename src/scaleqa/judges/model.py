"""Free text, graded by a language model with a versioned prompt."""

import re

from scaleqa.backends import ChatModel, Message
from scaleqa.judges.protocol import Task, Verdict
from scaleqa.judges.reply import answer_of, rationale_of
from scaleqa.prompts import template

PROMPT = "judge.v1"
TOKENS = 10
YES = re.compile(r"\W*yes\b", re.IGNORECASE)


class ModelJudge:
    """Asks a chat model whether an answer is equivalent to the correct one."""

    def __init__(self, model: ChatModel) -> None:
        """Loads the prompt."""
        self._model = model
        self._prompt = template(PROMPT)

    @property
    def identity(self) -> str:
        """The prompt, its hash, and the model."""
        return f"judge/{PROMPT}/{self._prompt.sha256[:12]}/{self._model.identity}"

    def grade(self, task: Task, reply: str) -> Verdict:
        """Grades a reply with the model; a missing answer is wrong without asking it."""
        answer = answer_of(reply)
        correct = False
        if answer is not None:
            text = self._prompt.fill(question=task.question, gold=task.gold, answer=answer)
            said = self._model.chat([Message(role="user", content=text)], most_tokens=TOKENS)
            correct = bool(YES.match(said.text))
        return Verdict(answer=answer, correct=correct, rationale=rationale_of(reply))
