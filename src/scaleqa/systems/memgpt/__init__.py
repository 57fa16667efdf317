"""MemGPT: a limited main context that pages to and from recall and archival storage."""

from collections.abc import Mapping, Sequence

from scaleqa.backends import Counted
from scaleqa.errors import DataError
from scaleqa.packages import StreamTurn
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.memgpt.agent import AgentController
from scaleqa.systems.memgpt.controller import Controller, RuleController
from scaleqa.systems.memgpt.functions import SEARCHES
from scaleqa.systems.memgpt.memory import Memory, line, words
from scaleqa.systems.memgpt.session import Session
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from scaleqa.systems.registry import take
from scaleqa.systems.summarise import summarise


class MemGpt(FlatSystem):
    """The memory, its queue manager, and a controller: a model where there is one, or rules.

    Requests only search, so that asking changes nothing; what is worth keeping of an exchange is
    decided when it comes back as messages.
    """

    def __init__(self, tools: Tools, *, window: int, budget: int, page: int) -> None:
        """Starts empty."""
        super().__init__()
        self._model = Counted(tools.model) if tools.model else None
        self._controller: Controller = (
            AgentController(self._model) if self._model else RuleController()
        )
        self._budget = budget
        self._page = page
        self._memory = Memory(tools.embedder, self._summarise, room=window - budget)

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Queues messages one by one; warns and flushes as the context fills up."""
        for turn in turns:
            self._memory.receive(turn)
            self._relieve()
            while self._memory.full():
                self._memory.flush()
                self._relieve()

    def retrieve(self, asked: Asked) -> Retrieved:
        """Lets the controller search; what it found comes first, the queue last."""
        memory = self._memory
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
        """Tells what is kept: all messages by word, archival passages by vector."""
        passages = self._memory.passages
        return Accounting(
            vectors=len(passages),
            indexed_words=self.words + sum(words(passage.text) for passage in passages),
            llm_calls=self._model.calls if self._model else 0,
        )

    def _summarise(self, before: str, turns: Sequence[StreamTurn], most: int) -> str:
        # Without a model, roles would count as words that all sentences share.
        texts = [line(turn) if self._model else turn.text for turn in turns]
        return summarise([before, *texts], most, self._model)

    def _relieve(self) -> None:
        if self._memory.pressed():
            session = Session(self._memory, budget=self._budget, page=self._page)
            self._controller.pressure(self._memory, session)


def make(options: Mapping[str, str], tools: Tools) -> MemGpt:
    """Opens the system; options: window, budget (both in tokens), page.

    Raises:
        DataError: The budget is negative, a page holds nothing, or the window is too small.
    """
    values = take(options, window=2600, budget=1500, page=5)
    window, budget, page = (int(values[key]) for key in ("window", "budget", "page"))
    if budget < 0 or page < 1:
        raise DataError(f"budget={budget} and page={page} should be at least 0 and 1")
    return MemGpt(tools, window=window, budget=budget, page=page)
