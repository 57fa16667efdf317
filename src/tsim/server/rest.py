"""The REST API: threads, turns, questions, forgetting."""

from collections.abc import Callable
from itertools import islice
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from tsim import __version__, wire
from tsim.checking import check_name
from tsim.errors import ThreadMissingError, TooLargeError
from tsim.memory import Memory
from tsim.server import bodies
from tsim.server.access import Scope
from tsim.server.service import Caller, Service
from tsim.thread import CONTEXT_BUDGET, Thread
from tsim.types import Forgotten, ForgetPreview, Hit

T = TypeVar("T")

Name = Annotated[str, Path(alias="thread", description="The thread; `/` is written %2F.")]
Limit = Annotated[int, Query(ge=1, description="Most entries of the answer.")]
Namespace = Annotated[str | None, Path(include_in_schema=False)]


class Answer(Response):
    """JSON that was written already, so that nothing validates it again."""

    media_type = "application/json"


class Call:
    """A request to the API: who sends it, and what it is about."""

    def __init__(self, request: Request) -> None:
        """Takes the request as it comes; nothing is checked yet."""
        self.request = request
        self.service: Service = request.app.state.service

    async def __call__(
        self,
        kind: Any,
        function: Callable[[Memory], T],
        *,
        scope: Scope = Scope.READ,
        create: bool = False,
        empty: T | None = None,
        audit: tuple[str, dict[str, object]] | None = None,
    ) -> Answer:
        """Answers with what a function makes of the caller's memory.

        Args:
            kind: The type of the answer.
            function: Called in a worker with the memory.
            scope: What the caller must be allowed to do.
            create: Whether to create the memory if there is none yet.
            empty: The answer if there is no memory; None if that is an error.
            audit: What to note in the audit log before anything is done.
        """

        def work() -> bytes:
            caller = self.caller(scope)
            if audit is not None:
                self.service.note(caller, audit[0], **audit[1])
            try:
                with self.service.memory(caller, create=create) as memory:
                    value = function(memory)
            except ThreadMissingError:
                if empty is None:
                    raise
                value = empty
            return wire.dump(kind, value)

        return Answer(await self.service.work(work))

    def caller(self, scope: Scope) -> Caller:
        """Returns who sends the request."""
        named = self.request.path_params.get("namespace")
        return self.service.caller(self.request, scope, named)

    def page(self, limit: int) -> int:
        """Returns how many entries an answer may have."""
        return min(limit, self.service.settings.limits.page)

    def budget(self, wanted: int) -> int:
        """Returns how many tokens an answer may have."""
        return min(wanted, self.service.settings.limits.budget)


Calling = Annotated[Call, Depends(Call)]


def thread_name(name: str) -> str:
    """Returns the name of a thread as it is written in an address."""
    return check_name(unquote(name))


def asked(body: bodies.Narrowing) -> dict[str, Any]:
    """Returns the fields of a body that were given, as arguments."""
    return {
        name: value for name in body.model_fields_set if (value := getattr(body, name)) is not None
    }


def router() -> APIRouter:
    """Returns the routes, without prefix."""
    routes = APIRouter(tags=["threads"])

    @routes.get("/memory", response_model=bodies.About)
    async def memory(call: Calling) -> Response:
        """What the memory of this namespace was made with."""

        def about(memory: Memory) -> bodies.About:
            return bodies.About(
                namespace=call.caller(Scope.READ).namespace,
                model=memory.model,
                preset=memory.preset.name,
                version=__version__,
            )

        return await call(bodies.About, about, create=True)

    @routes.get("/threads", response_model=bodies.Threads)
    async def threads(call: Calling, after: str | None = None, limit: Limit = 100) -> Response:
        """Lists threads by name."""
        most = call.page(limit)

        def page(memory: Memory) -> bodies.Threads:
            later = (name for name in memory.threads() if after is None or name > after)
            names = [*islice(later, most + 1)]
            sizes = [_size(memory.thread(name)) for name in names[:most]]
            more = len(names) > most
            return bodies.Threads(threads=sizes, next=names[most - 1] if more else None)

        return await call(bodies.Threads, page, empty=bodies.Threads(threads=[]))

    @routes.get("/threads/{thread}", response_model=bodies.ThreadSize)
    async def thread(call: Calling, name: Name) -> Response:
        """Returns how many turns a thread has."""

        def size(memory: Memory) -> bodies.ThreadSize:
            found = memory.thread(thread_name(name))
            found.require()
            return _size(found)

        return await call(bodies.ThreadSize, size)

    @routes.delete("/threads/{thread}", response_model=Forgotten)
    async def forget_thread(call: Calling, name: Name) -> Response:
        """Forgets a whole thread and erases its content."""
        known = thread_name(name)

        def forget(memory: Memory) -> Forgotten:
            gone = tuple(turn.id for turn in memory.thread(known).turns())
            memory.forget_thread(known)
            return Forgotten(turns=gone, scrubbed=memory.erased)

        audit = ("forget_thread", {"thread": known})
        return await call(Forgotten, forget, scope=Scope.FORGET, audit=audit)

    @routes.post("/threads/{thread}/turns", response_model=bodies.Added)
    async def add(call: Calling, name: Name, body: bodies.TurnsBody) -> Response:
        """Adds turns durably; searches find them as soon as the answer is here.

        A request may be repeated safely if its turns have ids.
        """
        most = call.service.settings.limits.batch
        if len(body.turns) > most:
            raise TooLargeError(f"found {len(body.turns)} turns, at most {most} are taken at once")

        def write(memory: Memory) -> bodies.Added:
            receipts = memory.thread(thread_name(name)).add_many(body.turns)
            return bodies.Added(receipts=receipts, skipped=receipts.skipped)

        return await call(bodies.Added, write, scope=Scope.WRITE, create=True)

    @routes.get("/threads/{thread}/turns", response_model=bodies.Turns)
    async def turns(
        call: Calling, name: Name, after: int | None = None, limit: Limit = 100
    ) -> Response:
        """Pages through the turns of a thread."""
        most = call.page(limit)

        def page(memory: Memory) -> bodies.Turns:
            found = memory.thread(thread_name(name)).turns(after=after, limit=most + 1)
            return bodies.Turns(
                turns=found[:most], next=found[most - 1].id if len(found) > most else None
            )

        return await call(bodies.Turns, page)

    @routes.get("/threads/{thread}/recent", response_model=bodies.Turns)
    async def recent(call: Calling, name: Name, limit: Limit = 20) -> Response:
        """Returns the last turns of a thread, in order."""
        most = call.page(limit)

        def last(memory: Memory) -> bodies.Turns:
            return bodies.Turns(turns=memory.thread(thread_name(name)).recent(most))

        return await call(bodies.Turns, last)

    @routes.get("/threads/{thread}/episodes", response_model=bodies.Episodes)
    async def episodes(
        call: Calling,
        name: Name,
        threshold: Annotated[float | None, Query(ge=0, le=1)] = None,
        after: int | None = None,
        limit: Limit = 20,
    ) -> Response:
        """Pages through the episodes of a thread, or through those at another threshold."""
        most = call.page(limit)

        def page(memory: Memory) -> bodies.Episodes:
            every = memory.thread(thread_name(name)).episodes(threshold=threshold)
            later = [one for one in every if after is None or one.id > after]
            return bodies.Episodes(
                episodes=later[:most], next=later[most - 1].id if len(later) > most else None
            )

        return await call(bodies.Episodes, page)

    @routes.post("/threads/{thread}/forget/preview", response_model=ForgetPreview)
    async def preview(call: Calling, name: Name, body: bodies.PreviewBody) -> Response:
        """Returns what would be forgotten, or what a search finds; removes nothing."""

        def look(memory: Memory) -> ForgetPreview:
            return memory.thread(thread_name(name)).preview_forget(**asked(body))

        return await call(ForgetPreview, look)

    @routes.post("/threads/{thread}/forget", response_model=Forgotten)
    async def forget(call: Calling, name: Name, body: bodies.ForgetBody) -> Response:
        """Forgets turns and erases them; the receipt says what was removed."""
        known = thread_name(name)

        def remove(memory: Memory) -> Forgotten:
            return memory.thread(known).forget(**asked(body))

        about = {"thread": known, **body.model_dump(exclude_none=True, exclude={"meta"})}
        return await call(Forgotten, remove, scope=Scope.FORGET, audit=("forget", about))

    _add_questions(routes)
    return routes


def _add_questions(routes: APIRouter) -> None:
    @routes.post("/threads/{thread}/search", response_model=bodies.Hits, tags=["questions"])
    async def search(call: Calling, name: Name, body: bodies.SearchBody) -> Response:
        """Finds the spans of a thread that are relevant to a question, with the reasons."""

        def find(memory: Memory) -> bodies.Hits:
            return bodies.Hits(hits=memory.thread(thread_name(name)).search(**asked(body)))

        return await call(bodies.Hits, find)

    @routes.post("/threads/{thread}/context", response_model=bodies.Context, tags=["questions"])
    async def context(call: Calling, name: Name, body: bodies.ContextBody) -> Response:
        """Returns what is relevant to a question as text for a prompt, within the budget."""
        given = {**asked(body), "budget": call.budget(body.budget or CONTEXT_BUDGET)}

        def find(memory: Memory) -> bodies.Context:
            thread = memory.thread(thread_name(name))
            hits = thread.search(**given)
            return _context(memory, thread.write(hits), hits)

        return await call(bodies.Context, find)

    @routes.post("/search", response_model=bodies.Hits, tags=["questions"])
    async def search_threads(call: Calling, body: bodies.SearchAcrossBody) -> Response:
        """Finds what is relevant to a question in several threads."""

        def find(memory: Memory) -> bodies.Hits:
            return bodies.Hits(hits=memory.search(**asked(body)))

        return await call(bodies.Hits, find)

    @routes.post("/context", response_model=bodies.Context, tags=["questions"])
    async def context_of_threads(call: Calling, body: bodies.ContextAcrossBody) -> Response:
        """Returns what is relevant to a question in several threads as text for a prompt."""
        given = {**asked(body), "budget": call.budget(body.budget or CONTEXT_BUDGET)}

        def find(memory: Memory) -> bodies.Context:
            hits = memory.search(**given, named=True)
            return _context(memory, memory.write(hits, threads=body.threads), hits)

        return await call(bodies.Context, find)


def _size(thread: Thread) -> bodies.ThreadSize:
    return bodies.ThreadSize(name=thread.name, turns=len(thread))


def _context(memory: Memory, text: str, hits: list[Hit]) -> bodies.Context:
    return bodies.Context(context=text, tokens=memory.count_tokens(text), hits=hits)
