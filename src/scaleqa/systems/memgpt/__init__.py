"""MemGPT: a limited main context, paged to and from recall and archival storage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from scaleqa.backends import Counted
from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.memgpt.agent import AgentController
from scaleqa.systems.memgpt.controller import Controller, RuleController
from scaleqa.systems.memgpt.functions import SEARCHES
from scaleqa.systems.memgpt.memory import Memory, line, words
from scaleqa.systems.memgpt.session import Session
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from scaleqa.systems.summarise import summarise


@dataclass(frozen=True, slots=True, kw_only=True)
class MemGptOptions:
    """Length of the context, the part for search results, and the page size."""

    window: Annotated[
        int, Field(ge=1, description="Tokens of the whole context, search results included.")
    ] = 2600
    budget: Annotated[
        int, Field(ge=0, description="The part of the window reserved for search results.")
    ] = 1500
    page: Annotated[int, Field(ge=1, description="Results per page of a search.")] = 5


class MemGpt(FlatSystem):
    """The memory, its queue manager, and a controller: a model if there is one, otherwise rules.

    Requests only search, so they change nothing. What to keep of an exchange is decided when it is
    ingested as messages.
    """

    def __init__(self, options: MemGptOptions, tools: Tools) -> None:
        """Starts empty.

        Raises:
            DataError: The window leaves too little room after the budget.
        """
        super().__init__()
        self._model = Counted(tools.model) if tools.model else None
        self._controller: Controller = (
            AgentController(self._model) if self._model else RuleController()
        )
        self._budget = options.budget
        self._page = options.page
        room = options.window - options.budget
        self.memory = Memory(tools.embedder, self._summarise, room=room)

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Queues messages one by one; warns and flushes when the context fills up."""
        for turn in turns:
            self.memory.receive(turn)
            self._relieve()
            while self.memory.full():
                self.memory.flush()
                self._relieve()

    def retrieve(self, asked: Asked) -> Retrieved:
        """Lets the controller search; the context has its results first and the queue last."""
        memory = self.memory
        session = Session(memory, budget=self._budget, page=self._page, only=SEARCHES)
        if memory.messages:
            self._controller.question(memory, session, asked.question)
        queued = tuple(turn.id for turn in memory.queue)
        recent = [Unit(turns=queued, score=0.0, label="queue")] if queued else []
        parts = (memory.head(), session.found(), memory.recent() if queued else "")
        return Retrieved(
            units=(*session.units, *recent),
            context="\n\n".join(part for part in parts if part),
            shown=session.shown.union(queued),
        )

    def account(self) -> Accounting:
        """Returns what the system keeps: all messages as text, archival passages with vectors."""
        passages = self.memory.passages
        return Accounting(
            vectors=len(passages),
            indexed_words=self.words + sum(words(passage.text) for passage in passages),
            llm_calls=self._model.calls if self._model else 0,
        )

    def _summarise(self, before: str, turns: Sequence[StreamTurn], most: int) -> str:
        # Without a model, roles would count as words that all sentences have in common.
        texts = [line(turn) if self._model else turn.text for turn in turns]
        return summarise([before, *texts], most, self._model)

    def _relieve(self) -> None:
        if self.memory.pressed():
            session = Session(self.memory, budget=self._budget, page=self._page)
            self._controller.pressure(self.memory, session)


# Two options limit the context, `window` as a whole and `budget` the search results in it, so no
# single option limits it to a given length.
SYSTEM = SystemDeclaration(
    name="memgpt",
    summary="A limited context, paged to and from two kinds of storage.",
    options=MemGptOptions,
    make=MemGpt,
    order=6,
    colour="#aa4499",
    without_model="rules act for memgpt's model",
)
