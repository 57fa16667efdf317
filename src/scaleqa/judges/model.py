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
    """Asks a chat model whether an answer says the same as the right one."""

    def __init__(self, model: ChatModel) -> None:
        """Reads the prompt."""
        self._model = model
        self._prompt = template(PROMPT)

    @property
    def identity(self) -> str:
        """Names the prompt by its content, and the model."""
        return f"judge/{PROMPT}/{self._prompt.sha256[:12]}/{self._model.identity}"

    def grade(self, task: Task, reply: str) -> Verdict:
        """Has the model compare; an absent answer is wrong without asking."""
        answer = answer_of(reply)
        correct = False
        if answer is not None:
            text = self._prompt.fill(question=task.question, gold=task.gold, answer=answer)
            said = self._model.chat([Message(role="user", content=text)], most_tokens=TOKENS)
            correct = bool(YES.match(said.text))
        return Verdict(answer=answer, correct=correct, rationale=rationale_of(reply))
