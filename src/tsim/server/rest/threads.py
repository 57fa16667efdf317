"""Threads, their turns and episodes."""

from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Response

from tsim import __version__, answers
from tsim.errors import TooLargeError
from tsim.memory import Memory
from tsim.server import bodies
from tsim.server.access import Scope
from tsim.server.rest.call import Admitted, Call, Limit, Name
from tsim.thread import Thread

routes = APIRouter(tags=["threads"], route_class=Admitted)


@routes.get("/memory", response_model=bodies.About)
async def about(call: Call) -> Response:
    """What the memory of this namespace was made with."""

    def describe(memory: Memory) -> bodies.About:
        return bodies.About(
            namespace=call.caller(Scope.READ).namespace,
            model=memory.model,
            preset=memory.preset.name,
            version=__version__,
        )

    return await call(bodies.About, describe, blank=True)


@routes.get("/threads", response_model=answers.Threads)
async def list_threads(call: Call, after: str | None = None, limit: Limit = 100) -> Response:
    """Lists threads by name."""
    most = call.page(limit)

    def page(memory: Memory) -> answers.Threads:
        later = (name for name in memory.threads() if after is None or name > after)
        names = [*islice(later, most + 1)]
        return answers.Threads(
            threads=[_size(memory.thread(name)) for name in names[:most]],
            next=names[most - 1] if len(names) > most else None,
        )

    return await call(answers.Threads, page, empty=answers.Threads(threads=[]))


@routes.get("/threads/{thread}", response_model=answers.ThreadSize)
async def show_thread(call: Call, name: Name) -> Response:
    """Returns how many turns a thread has."""

    def size(memory: Memory) -> answers.ThreadSize:
        found = memory.thread(name)
        found.require()
        return _size(found)

    return await call(answers.ThreadSize, size)


@routes.post("/threads/{thread}/turns", response_model=bodies.Added)
async def add_turns(call: Call, name: Name, body: bodies.TurnsBody) -> Response:
    """Adds turns durably; searches find them as soon as the answer is here.

    A request may be repeated safely if its turns have ids.
    """
    if len(body.turns) > call.limits.batch:
        raise TooLargeError(
            f"found {len(body.turns)} turns, at most {call.limits.batch} are taken at once; "
            "send them in several requests"
        )

    def write(memory: Memory) -> bodies.Added:
        receipts = memory.thread(name).add_many(body.turns)
        return bodies.Added(receipts=receipts, skipped=receipts.skipped)

    return await call(bodies.Added, write, scope=Scope.WRITE, create=True)


@routes.get("/threads/{thread}/turns", response_model=answers.Turns)
async def list_turns(
    call: Call,
    name: Name,
    after: int | None = None,
    limit: Limit = 100,
    called: str | None = None,
) -> Response:
    """Pages through the turns of a thread, or returns the one with an external id."""
    most = call.page(limit)

    def page(memory: Memory) -> answers.Turns:
        if called is not None:
            turn = memory.thread(name).called(called)
            return answers.Turns(turns=[turn] if turn else [])
        found = memory.thread(name).turns(after=after, limit=most + 1)
        return answers.Turns(
            turns=found[:most], next=found[most - 1].id if len(found) > most else None
        )

    return await call(answers.Turns, page)


@routes.get("/threads/{thread}/recent", response_model=answers.Turns)
async def recent_turns(call: Call, name: Name, limit: Limit = 20) -> Response:
    """Returns the last turns of a thread, in order."""
    most = call.page(limit)
    return await call(
        answers.Turns, lambda memory: answers.Turns(turns=memory.thread(name).recent(most))
    )


@routes.get("/threads/{thread}/episodes", response_model=answers.Episodes)
async def list_episodes(
    call: Call,
    name: Name,
    threshold: Annotated[float | None, Query(ge=0, le=1)] = None,
    after: int | None = None,
    limit: Limit = 20,
) -> Response:
    """Pages through the episodes of a thread, or through those at another threshold."""
    most = call.page(limit)

    def page(memory: Memory) -> answers.Episodes:
        every = memory.thread(name).episodes(threshold=threshold)
        later = [one for one in every if after is None or one.id > after]
        return answers.Episodes(
            episodes=later[:most], next=later[most - 1].id if len(later) > most else None
        )

    return await call(answers.Episodes, page)


def _size(thread: Thread) -> answers.ThreadSize:
    return answers.ThreadSize(name=thread.name, turns=len(thread))
