"""The application: chats with a memory, and everything else as it is."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tsim import private
from tsim.embed import Embedder
from tsim.proxy.exchange import Proxy
from tsim.proxy.keeping import DRAIN_SECONDS, Keeper
from tsim.proxy.recall import Recall
from tsim.proxy.settings import Proxied
from tsim.proxy.timing import TimedEmbedder
from tsim.proxy.upstream import Upstream
from tsim.server import problems
from tsim.server.access.gate import Access
from tsim.server.batching import BatchingEmbedder
from tsim.server.guard import Guard
from tsim.server.namespaces import Namespaces
from tsim.server.processes.shared import Shared
from tsim.server.service import Service
from tsim.server.settings import Settings


def create_app(settings: Settings, proxied: Proxied, *, embedder: Embedder) -> Starlette:
    """Makes the application of a proxy.

    Args:
        settings: Where the memories are and who may use them.
        proxied: Which server is asked, and how much of a conversation it is shown.
        embedder: Computes the vectors.

    Raises:
        StoreError: The file of keys cannot be used.
    """
    private.make_directory(settings.directory)
    timed = TimedEmbedder(BatchingEmbedder(embedder))
    namespaces = Namespaces(settings, timed)
    access = Access(settings.access)
    shared = Shared()  # with no other process
    service = Service(settings, namespaces, access, shared)
    recall = Recall(namespaces, timed, proxied, settings.tokens)
    upstream = Upstream(proxied.upstream)
    keeper = Keeper()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.enter_context(closing(access))
            stack.enter_context(closing(namespaces))
            stack.push_async_callback(upstream.close)
            stack.push_async_callback(keeper.drain, DRAIN_SECONDS)
            yield

    async def live(_: Request) -> Response:
        return Response('{"status":"live"}', media_type="application/json")

    # Without its memory a proxy passes on what it gets, so that it is ready as soon as it lives.
    health = [Route("/health/live", live), Route("/health/ready", live)]
    proxy = Proxy(service, recall, upstream, keeper, proxied)
    app = Starlette(routes=[*health, Route("/v1/{path:path}", proxy)], lifespan=lifespan)
    problems.register(app)
    app.add_middleware(Guard, settings=settings, shared=shared)
    return app
