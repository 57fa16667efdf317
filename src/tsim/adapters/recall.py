"""`Recall`: a thread that remembers a framework's messages and gives back what fits a question."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from inspect import isawaitable, iscoroutinefunction
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from tsim.adapters.protocol import AnyConversation
from tsim.adapters.window import LATEST_SHARE, Besides, Said, besides, cost, latest
from tsim.arguments import positive, share
from tsim.checking import check_turn
from tsim.counting import Tokens, open_measure
from tsim.errors import InputError, ThreadMissingError
from tsim.types import Hit, NewTurn, Turn
from tsim.words import distinct

M = TypeVar("M")
T = TypeVar("T")

BUDGET = 2000
# The last turns among which the latest messages are chosen.
LAST_TURNS = 100
PREAMBLE = files(__package__).joinpath("recalled.txt").read_text("utf-8")

# What is to be done with a thread, step by step, by whoever waits or awaits.
Steps: TypeAlias = Generator[Callable[[], Any], Any, T]


class Codec(Protocol[M]):
    """How the messages of a framework become turns, and turns messages."""

    def turn(self, message: M) -> NewTurn | None:
        """Returns a message as a turn; None if nothing of it can be kept."""
        ...

    def said(self, turn: Turn) -> Said[M] | None:
        """Returns a stored turn as the message it was; None if it cannot come back."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled(Generic[M]):
    """What is shown of a conversation.

    Attributes:
        text: What was found for the question, as text for a prompt; empty if nothing was.
        messages: The latest messages in order.
        hits: What was found, best first, without what the messages say already.
    """

    text: str = ""
    messages: tuple[M, ...] = ()
    hits: tuple[Hit, ...] = ()


class Recall(Generic[M]):
    """A thread, and how much of it is shown to a model.

    Every method has a twin that is awaited, which never blocks the event loop.
    """

    def __init__(
        self,
        thread: AnyConversation,
        codec: Codec[M],
        *,
        budget: int = BUDGET,
        latest_share: float = LATEST_SHARE,
        tokens: Tokens = "estimate",
        clock: Callable[[], float] | None = time.time,
    ) -> None:
        """Prepares the window; nothing is read yet.

        Args:
            thread: A thread of a `Memory`, a `Client` or an `AsyncClient`.
            codec: How messages become turns, and turns messages.
            budget: Maximum number of tokens of all that is shown.
            latest_share: How much of it the latest messages may use, from 0 to 1.
            tokens: What counts the tokens: a value that `Memory.open` accepts.
            clock: Gives the time of messages that have none; None to leave it out.

        Raises:
            InputError: A value is out of range.
        """
        positive(budget=budget)
        self.thread = thread
        self._codec = codec
        self._budget = budget
        self._share = share("latest_share", latest_share)
        self._measure = open_measure(tokens)
        self._clock = clock

    def remember(self, messages: Iterable[M]) -> None:
        """Adds messages. What has an id that is known is not added again."""
        self._wait(self._remember(messages))

    async def aremember(self, messages: Iterable[M]) -> None:
        """Adds messages, as `remember` does."""
        await _await(self._remember(messages))

    def show(
        self,
        question: str | None,
        budget: int | None = None,
        *,
        said: Sequence[Said[M]] | None = None,
    ) -> Recalled[M]:
        """Returns the latest messages and what is relevant to a question, within the budget.

        Args:
            question: What is asked now; None, or nothing visible, for the latest messages alone.
            budget: Maximum number of tokens; that of the constructor by default.
            said: The messages of which the latest are shown; by default those of the thread.
        """
        return self._wait(self._show(question, budget, said))

    async def ashow(
        self,
        question: str | None,
        budget: int | None = None,
        *,
        said: Sequence[Said[M]] | None = None,
    ) -> Recalled[M]:
        """Returns what `show` does."""
        return await _await(self._show(question, budget, said))

    def find(self, question: str, shown: Sequence[Said[M]], budget: int) -> Besides:
        """Returns what is relevant to a question beside messages that are shown anyway."""
        return self._wait(self._find(question, shown, budget))

    async def afind(self, question: str, shown: Sequence[Said[M]], budget: int) -> Besides:
        """Returns what `find` does."""
        return await _await(self._find(question, shown, budget))

    def last(self, limit: int | None = None) -> list[Said[M]]:
        """Returns the last messages that can come back, all of them by default."""
        return self._wait(self._last(limit))

    async def alast(self, limit: int | None = None) -> list[Said[M]]:
        """Returns what `last` does."""
        return await _await(self._last(limit))

    def forget(self, turns: Iterable[int]) -> None:
        """Forgets turns by their numbers."""
        self._wait(self._forget([*turns]))

    async def aforget(self, turns: Iterable[int]) -> None:
        """Forgets turns, as `forget` does."""
        await _await(self._forget([*turns]))

    def clear(self) -> None:
        """Forgets all turns of the thread."""
        self._wait(self._clear())

    async def aclear(self) -> None:
        """Forgets all turns, as `clear` does."""
        await _await(self._clear())

    def _wait(self, steps: Steps[T]) -> T:
        if iscoroutinefunction(self.thread.recent):
            steps.close()
            raise InputError(
                f"{self.thread!r:.80} can only be awaited; use the async methods of this adapter, "
                "or a thread of a Client or a Memory"
            )
        return _drive(steps)

    def _remember(self, messages: Iterable[M]) -> Steps[None]:
        now = self._clock() if self._clock else None
        found = (self._codec.turn(message) for message in messages)
        turns = [one if one.at is not None else replace(one, at=now) for one in found if one]
        # What was recalled is there already; remembered again, it would be found instead.
        checked = [check_turn(one) for one in turns if not one.text.startswith(PREAMBLE)]
        if checked:
            yield partial(self.thread.add_many, checked)

    def _show(
        self, question: str | None, budget: int | None, said: Sequence[Said[M]] | None
    ) -> Steps[Recalled[M]]:
        positive(budget=budget)
        most = self._budget if budget is None else budget
        if said is None:
            said = yield from self._last(LAST_TURNS)
        shown = latest(said, budget=int(most * self._share), measure=self._measure)
        found = Besides()
        if question and question.strip():
            room = most - cost(shown, self._measure)
            found = yield from self._find(question, shown, room)
        return Recalled(
            text=found.text, messages=tuple(one.message for one in shown), hits=found.hits
        )

    def _find(self, question: str, shown: Sequence[Said[M]], budget: int) -> Steps[Besides]:
        if budget < 1:
            return Besides()
        wide = budget + cost(shown, self._measure)
        try:
            hits = yield partial(self.thread.search, question, budget=wide)
        except ThreadMissingError:
            return Besides()
        return besides(
            hits,
            shown,
            budget=budget,
            measure=self._measure,
            terms=sorted(distinct(question)),
            preamble=PREAMBLE,
        )

    def _last(self, limit: int | None) -> Steps[list[Said[M]]]:
        recent = self.thread.turns if limit is None else partial(self.thread.recent, limit)
        try:
            turns: list[Turn] = yield recent
        except ThreadMissingError:
            return []
        found = (self._codec.said(turn) for turn in turns)
        return [one for one in found if one is not None]

    def _forget(self, turns: Sequence[int]) -> Steps[None]:
        if turns:
            yield partial(self.thread.forget, turns=turns)

    def _clear(self) -> Steps[None]:
        try:
            turns: list[Turn] = yield self.thread.turns
        except ThreadMissingError:
            return
        yield from self._forget([turn.id for turn in turns])


def _drive(steps: Steps[T]) -> T:
    """Does steps one after another, waiting for each."""
    try:
        do = next(steps)
        while True:
            try:
                outcome = do()
            except ThreadMissingError as error:
                do = steps.throw(error)
            else:
                do = steps.send(outcome)
    except StopIteration as end:
        return cast("T", end.value)


async def _await(steps: Steps[T]) -> T:
    """Does steps one after another, each in a thread of its own unless it can be awaited."""
    try:
        do = next(steps)
        while True:
            try:
                outcome = await _done(do)
            except ThreadMissingError as error:
                do = steps.throw(error)
            else:
                do = steps.send(outcome)
    except StopIteration as end:
        return cast("T", end.value)


async def _done(do: Callable[[], Any]) -> Any:
    called = do.func if isinstance(do, partial) else do
    if iscoroutinefunction(called):
        return await cast("Awaitable[Any]", do())
    outcome = await asyncio.to_thread(do)
    return await outcome if isawaitable(outcome) else outcome
