"""Forgetting: first a preview, then the deed, whose receipt is the proof."""

from fastapi import APIRouter, Response

from tsim.memory import Memory
from tsim.server import bodies
from tsim.server.access import Scope
from tsim.server.rest.call import Admitted, Audited, Call, Name, given
from tsim.types import ForgetPreview, Forgotten

routes = APIRouter(tags=["forgetting"], route_class=Admitted)


@routes.post("/threads/{thread}/forget/preview", response_model=ForgetPreview)
async def preview_forget(call: Call, name: Name, body: bodies.PreviewBody) -> Response:
    """Returns what would be forgotten, or what a search finds; removes nothing."""
    return await call(
        ForgetPreview, lambda memory: memory.thread(name).preview_forget(**given(body))
    )


@routes.post("/threads/{thread}/forget", response_model=Forgotten)
async def forget(call: Call, name: Name, body: bodies.ForgetBody) -> Response:
    """Forgets turns and erases them; the receipt says what was removed."""
    # What was noted with turns may be personal; the log is never erased.
    about = body.model_dump(exclude_none=True, exclude={"meta"})
    return await call(
        Forgotten,
        lambda memory: memory.thread(name).forget(**given(body)),
        scope=Scope.FORGET,
        audited=Audited(action="forget", about={"thread": name, **about}),
    )


@routes.delete("/threads/{thread}", response_model=Forgotten)
async def forget_thread(call: Call, name: Name) -> Response:
    """Forgets a whole thread and erases its content."""

    def remove(memory: Memory) -> Forgotten:
        gone = tuple(turn.id for turn in memory.thread(name))
        memory.forget_thread(name)
        return Forgotten(turns=gone, scrubbed=memory.erased)

    audited = Audited(action="forget_thread", about={"thread": name})
    return await call(Forgotten, remove, scope=Scope.FORGET, audited=audited)
