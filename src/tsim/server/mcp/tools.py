"""The six tools, whatever the transport."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import ConfigDict, Field

from tsim.errors import InputError, ThreadMissingError, TooLargeError
from tsim.server.access import Scope
from tsim.server.bodies import QUERY, ROLES, TURNS
from tsim.server.mcp import answers, confirming, threads
from tsim.server.mcp.opening import Opened, OpenMemory, Work
from tsim.server.nearly import others
from tsim.server.settings import Limits
from tsim.thread import CONTEXT_BUDGET
from tsim.times import before, seconds
from tsim.types import NewTurn

A = TypeVar("A")

# Turns that a preview shows, so that whoever confirms it can have read them.
FORGOTTEN = 200
# Spans that were not chosen: how many, and of how many times the budget.
NEAR = 5
WIDER = 2

# Texts are never optional: the SDK takes an optional text that looks like JSON for JSON.
Budget = Annotated[int, Field(gt=0, description="Most tokens.")]
Least = Annotated[float | None, Field(ge=0, le=1, description="0 to 1.")]
Since = Annotated[str, Field(description="ISO time, or 12h, 7d ago.")]
Roles = Annotated[tuple[str, ...], Field(max_length=ROLES, description="Only these speakers.")]
Asked = Annotated[str, Field(max_length=QUERY)]


class Given(answers.Part):
    """A turn to add."""

    model_config = ConfigDict(extra="forbid")

    role: str
    text: str
    at: str = ""
    id: str = ""


class Tools:
    """The tools; each method is one."""

    def __init__(
        self,
        open_memory: OpenMemory,
        work: Work,
        *,
        limits: Limits,
        secret: bytes,
        clock: Callable[[], datetime],
    ) -> None:
        """Prepares the tools.

        Args:
            open_memory: Opens the memory of whoever calls.
            work: Runs what blocks.
            limits: Bounds of what is taken and returned.
            secret: What confirmations are made with.
            clock: Tells the time.
        """
        self._open = open_memory
        self._work = work
        self._limits = limits
        self._secret = secret
        self._clock = clock

    async def remember(
        self,
        text: str = "",
        role: Annotated[str, Field(description="user, assistant or a name.")] = "user",
        at: Annotated[str, Field(description="ISO time; default now.")] = "",
        id: Annotated[str, Field(description="Makes repeats harmless.")] = "",
        turns: Annotated[
            tuple[Given, ...], Field(description="Several: {role, text, at, id}.")
        ] = (),
        thread: str = threads.DEFAULT,
    ) -> answers.Remembered:
        """Keep what was said, in a thread."""
        if bool(text) == bool(turns):
            found = "both" if text else "neither"
            raise InputError(f"remember takes text or turns, found {found}; nothing was added")
        most = self._limits.batch
        if len(turns) > most:
            raise TooLargeError(f"found {len(turns)} turns, at most {most} are taken at once")
        given = turns or (Given(role=role, text=text, at=at, id=id),)
        new = [
            NewTurn(role=one.role, text=one.text, at=self._said(one.at), id=one.id or None)
            for one in given
        ]

        def add(opened: Opened) -> answers.Remembered:
            receipts = opened.memory.thread(thread).add_many(new)
            return answers.Remembered(
                turns=[one.turn for one in receipts], known=sum(one.known for one in receipts)
            )

        return await self._with(Scope.WRITE, add, create=True)

    async def recall(
        self,
        query: Asked,
        thread: str = "",
        budget: Budget = CONTEXT_BUDGET,
        min_relevance: Least = None,
        since: Since = "",
        until: str = "",
        roles: Roles = (),
    ) -> answers.Recalled:
        """Find what was said about a question; relevance is a probability."""
        asked = self._asked(query, budget, min_relevance, **self._only(since, until, roles))

        def find(opened: Opened) -> answers.Recalled:
            hits = threads.find(opened.memory, thread).search(**asked)
            return answers.Recalled(spans=[answers.span(hit) for hit in hits])

        return await self._read(find, answers.Recalled(spans=[]))

    async def context(
        self, query: Asked, thread: str = "", budget: Budget = CONTEXT_BUDGET
    ) -> answers.Context:
        """Like recall, as one text to answer from; empty if nothing is known."""
        asked = self._asked(query, budget)

        def write(opened: Opened) -> answers.Context:
            text = threads.find(opened.memory, thread).context(**asked)
            return answers.Context(text=text, tokens=opened.memory.count_tokens(text))

        return await self._read(write, answers.Context(text="", tokens=0))

    async def recent(
        self,
        thread: str = "",
        n: Annotated[int, Field(gt=0)] = 10,
    ) -> answers.Recent:
        """Read the last turns, in order."""

        def read(opened: Opened) -> answers.Recent:
            found = threads.find(opened.memory, thread)
            return answers.recent(found, min(n, self._limits.page))

        return await self._read(read, answers.Recent(turns=[], total=0))

    async def forget(
        self,
        query: Asked = "",
        turns: Annotated[tuple[int, ...], Field(max_length=TURNS)] = (),
        thread: str = threads.DEFAULT,
        confirm: str = "",
    ) -> answers.Forgetting:
        """Without confirm: show what would be erased, and a confirm token.

        If a query finds several, pass the turns meant. If the user agrees, call again with these
        turns and confirm to erase them.
        """
        if bool(query) == bool(turns):
            found = "both" if query else "neither"
            raise InputError(f"forget takes query or turns, found {found}; nothing was removed")

        def remove(opened: Opened) -> answers.Forgetting:
            # Whoever confirms need not be allowed to read.
            named = threads.find(opened.memory, thread, tell=not confirm)
            found = named.preview_forget(query or None, turns=turns or None)
            if len(found) > FORGOTTEN:
                raise InputError(
                    f"{len(found)} turns would be forgotten, more than {FORGOTTEN} at a time; "
                    "nothing was removed; narrow it"
                )
            shown = confirming.Shown(
                namespace=opened.namespace,
                thread=named.name,
                turns=found.turns,
                lines=found.lines,
            )
            now = self._clock().timestamp()
            ids = list(found.turns)
            if not confirm:
                sure = turns or len(ids) == 1  # nobody means all that a search finds
                return answers.Forgetting(
                    forgotten=False,
                    turns=ids,
                    lines=list(found.lines),
                    relevances=None if found.relevances is None else list(found.relevances),
                    confirm=confirming.issue(self._secret, shown, now) if sure else None,
                )
            confirming.check(self._secret, confirm, shown, now)
            opened.note("forget", thread=named.name, turns=ids)
            gone = named.forget(turns=ids)
            return answers.Forgetting(forgotten=True, turns=list(gone.turns), erased=gone.scrubbed)

        return await self._with(Scope.FORGET if confirm else Scope.READ, remove)

    async def explain(
        self,
        query: Asked,
        thread: str = "",
        budget: Budget = CONTEXT_BUDGET,
    ) -> answers.Explained:
        """Why recall chose what it chose, and what nearly was."""
        asked = self._asked(query, budget)
        wider = {**asked, "budget": WIDER * asked["budget"], "min_relevance": 0.0}

        def find(opened: Opened) -> answers.Explained:
            named = threads.find(opened.memory, thread)
            chosen = named.search(**asked)
            there = {turn.id for hit in chosen for turn in hit.turns}
            near = others(named.search(**wider), there)
            return answers.Explained(
                chosen=[answers.reason(hit) for hit in chosen],
                near=[answers.near(hit) for hit in near[:NEAR]],
            )

        return await self._read(find, answers.Explained(chosen=[], near=[]))

    def _asked(
        self, query: str, budget: int, least: float | None = None, **only: Any
    ) -> dict[str, Any]:
        """Returns the arguments of `Thread.search`."""
        most = min(budget, self._limits.budget)
        named = {} if least is None else {"min_relevance": least}
        return {"query": query, "budget": most, "now": self._clock(), **named, **only}

    def _only(self, since: str, until: str, roles: tuple[str, ...]) -> dict[str, Any]:
        """Returns the filters that were given."""
        times = {"since": since, "until": until}
        only: dict[str, Any] = {
            name: before(text, self._clock()) for name, text in times.items() if text
        }
        return {**only, "roles": list(roles)} if roles else only

    def _said(self, at: str) -> float:
        return seconds(before(at, self._clock()) if at else self._clock(), "at")

    async def _read(self, function: Callable[[Opened], A], nothing: A) -> A:
        """Calls a function with the caller's memory; while that is empty, returns nothing."""
        try:
            return await self._with(Scope.READ, function)
        except ThreadMissingError:
            return nothing

    async def _with(
        self, scope: Scope, function: Callable[[Opened], A], *, create: bool = False
    ) -> A:
        """Calls a function with the caller's memory, in a worker."""

        def work() -> A:
            with self._open(scope, create=create) as opened:
                return function(opened)

        return await self._work(work)
