"""A system for `scaleqa` that sends the whole thread as a chat, and sees what of it a model gets.

It is asked through the chat model that systems may use (`--assist openai:repeat@URL`), a scripted
one that answers with what it received (`tests/support/upstream.py`): nothing here is a language
model. With the URL of `tsim proxy` before it, what is received is what the proxy makes of a chat;
with its own, it is everything. `bench/proxy.py` runs both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scaleqa.backends import Message
from scaleqa.errors import DataError
from scaleqa.systems import Asked, Exchange, Retrieved, SystemDeclaration, Tools, Unit
from scaleqa.systems.declaration import Kind
from scaleqa.systems.flat import FlatSystem
from tsim.toolkit import said

ROLES = {"model": "assistant"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOptions:
    """There is nothing to be chosen."""


class Conversing(FlatSystem):
    """Sends the whole thread with every question."""

    def __init__(self, _: NoOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__()
        if tools.model is None:
            raise DataError("a chat model is needed; pass --assist openai:repeat@URL")
        self._model = tools.model
        self._question = ""
        self._sent: dict[int, str] = {}
        self._learnt = False

    def observe(self, exchange: Exchange) -> None:
        """Ingests an exchange, the question as it was sent."""
        question, answer = exchange.turns
        self.ingest([question, answer])
        self._sent[question.id] = self._question

    def retrieve(self, asked: Asked) -> Retrieved:
        """Sends the thread and the question; returns what the model was sent."""
        self._question = asked.question
        history = [
            Message(role=_role(turn.role), content=self._sent.get(number, turn.text))
            for number, turn in self.turns.items()
        ]
        if not self._learnt:  # so that a proxy has all of it before the first question
            self._model.chat([*history, Message(role="user", content="Hello.")])
            self._learnt = True
        reply = self._model.chat([*history, Message(role="user", content=asked.question)])
        received: list[Mapping[str, Any]] = reply.calls[0].arguments["messages"][:-1]
        whole = {(str(one["role"]), str(one["content"])) for one in received}
        lines = "\n".join(str(one["content"]) for one in received)
        context = f"\n{lines}\n"
        shown = [
            number
            for number, turn in self.turns.items()
            if (_role(turn.role), turn.text) in whole
            or f"\n{said(_role(turn.role), turn.text)}\n" in context
        ]
        unit = Unit(turns=tuple(shown), score=1.0)
        return Retrieved(units=(unit,), context=lines, shown=frozenset(shown))


def _role(role: str) -> str:
    return ROLES.get(role, role)


SYSTEM = SystemDeclaration(
    name="conversing",
    summary="The whole thread as a chat; what of it a model is sent.",
    options=NoOptions,
    make=Conversing,
    kind=Kind.CONTROL,
)
