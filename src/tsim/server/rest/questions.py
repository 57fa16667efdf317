"""Questions, to one thread or to several."""

from typing import Any

from fastapi import APIRouter, Response

from tsim import answers
from tsim.memory import Memory
from tsim.server import bodies
from tsim.server.rest.call import Admitted, Call, Name, given
from tsim.thread import CONTEXT_BUDGET
from tsim.types import Hit

routes = APIRouter(tags=["questions"], route_class=Admitted)


@routes.post("/threads/{thread}/search", response_model=answers.Hits)
async def search(call: Call, name: Name, body: bodies.SearchBody) -> Response:
    """Finds the spans of a thread that are relevant to a question, with the reasons."""
    asked = _bounded(call, body)
    return await call(
        answers.Hits, lambda memory: answers.Hits(hits=memory.thread(name).search(**asked))
    )


@routes.post("/threads/{thread}/nearest", response_model=answers.Near)
async def nearest(call: Call, name: Name, body: bodies.NearestBody) -> Response:
    """Finds the nearest turns of a thread that is too long to be loaded, by cosine alone."""
    most = call.page(body.k)
    return await call(
        answers.Near,
        lambda memory: answers.Near(turns=memory.thread(name).nearest(body.query, k=most)),
    )


@routes.post("/threads/{thread}/context", response_model=bodies.Context)
async def context(call: Call, name: Name, body: bodies.ContextBody) -> Response:
    """Returns what is relevant to a question as text for a prompt, within the budget."""
    asked = {"budget": CONTEXT_BUDGET, **_bounded(call, body)}

    def find(memory: Memory) -> bodies.Context:
        thread = memory.thread(name)
        hits = thread.search(**asked)
        return _context(memory, thread.write(hits), hits)

    return await call(bodies.Context, find)


@routes.post("/search", response_model=answers.Hits)
async def search_threads(call: Call, body: bodies.SearchAcrossBody) -> Response:
    """Finds what is relevant to a question in several threads."""
    asked = _bounded(call, body)
    return await call(answers.Hits, lambda memory: answers.Hits(hits=memory.search(**asked)))


@routes.post("/context", response_model=bodies.Context)
async def context_of_threads(call: Call, body: bodies.ContextAcrossBody) -> Response:
    """Returns what is relevant to a question in several threads as text for a prompt."""
    asked = {"budget": CONTEXT_BUDGET, **_bounded(call, body)}

    def find(memory: Memory) -> bodies.Context:
        hits = memory.search(**asked, named=True)
        return _context(memory, memory.write(hits, threads=body.threads), hits)

    return await call(bodies.Context, find)


def _bounded(call: Call, body: bodies.ContextBody) -> dict[str, Any]:
    asked = given(body)
    if "budget" in asked:
        asked["budget"] = min(asked["budget"], call.limits.budget)
    return asked


def _context(memory: Memory, text: str, hits: list[Hit]) -> bodies.Context:
    return bodies.Context(context=text, tokens=memory.count_tokens(text), hits=hits)
