"""The application: REST, MCP, the inspector, health and metrics behind one guard."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import replace

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.telemetry import TelemetryConfig
from starlette.responses import RedirectResponse

from tsim import __version__, private
from tsim.embed import Embedder, machine_threads, open_embedder
from tsim.errors import AccessError
from tsim.server import inspector, problems, rest
from tsim.server.access import Scope
from tsim.server.access.failures import BURST, RATE, Failures
from tsim.server.access.gate import Access
from tsim.server.batching import BatchingEmbedder
from tsim.server.guard import Guard
from tsim.server.mcp.http import McpEndpoint
from tsim.server.metrics import Measured, Metrics
from tsim.server.namespaces import Namespaces
from tsim.server.processes import Shared
from tsim.server.reference import add_reference
from tsim.server.service import Service
from tsim.server.settings import Settings
from tsim.server.shelves import model_for

# FastAPI hands requests and errors to whatever OpenTelemetry finds in the process.
QUIET: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
DESCRIPTION = """Episodic memory for endless conversations.

Send a key as `Authorization: Bearer tsim_…`. Every route is also under
`/v1/namespaces/{namespace}`, for keys that are not bound to one. Errors are
`application/problem+json`; their `kind` never changes.
"""


def open_app(settings: Settings, shared: Shared) -> FastAPI:
    """Makes the application of a server, after its model was tried.

    Args:
        settings: Where the memories are and who may use them.
        shared: What it has in common with other processes of the server.

    Raises:
        StoreError: The file of keys cannot be used.
        ModelError: The model cannot be used. Nothing was made.
    """
    threads = max(1, machine_threads() // shared.processes)
    embedder = open_embedder(model_for(settings), threads=threads)
    embedder.embed_query("ready")
    return create_app(settings, embedder=embedder, shared=shared)


def create_app(
    settings: Settings, *, embedder: Embedder | None = None, shared: Shared | None = None
) -> FastAPI:
    """Makes the application of a server.

    Args:
        settings: Where the memories are and who may use them.
        embedder: Computes the vectors; by default the model of the settings.
        shared: What it has in common with other processes of the server.

    Raises:
        StoreError: The file of keys cannot be used.
        ModelError: The model cannot be used.
    """
    if settings.store is None:
        private.make_directory(settings.directory)
    batching = BatchingEmbedder(embedder or open_embedder(model_for(settings)))
    shared = shared or Shared()
    failures = Failures(shared.rates("wrong keys", RATE, BURST))
    access = Access(settings.access, failures=failures)
    if access.secret is not None:  # other servers have it, too
        shared = replace(shared, secret=access.secret)
    namespaces = Namespaces(settings, batching)
    service = Service(settings, namespaces, access, shared)
    endpoint = McpEndpoint(service)
    metrics = Metrics(shared.directory)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.enter_context(closing(access))
            stack.enter_context(closing(namespaces))
            # Loaded before anybody asks: a model that cannot be used should not be served.
            await service.work(lambda: batching.embed_query("ready"))
            await stack.enter_async_context(endpoint.run())
            app.state.ready = True
            yield
            app.state.ready = False

    app = FastAPI(
        title="tsim",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load their scripts from elsewhere
        redoc_url=None,
        telemetry=QUIET,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.service = service
    app.state.ready = False
    problems.register(app)
    app.include_router(_health(metrics))
    rest.add_routes(app, "/v1", described=True)
    rest.add_routes(app, "/v1/namespaces/{namespace}", described=False)
    add_reference(app, keys=settings.keys)
    app.include_router(inspector.router(service))

    @app.get("/", include_in_schema=False)
    async def home() -> Response:
        return RedirectResponse(inspector.ROOT)

    app.router.routes.extend(endpoint.routes)
    for name, about, value in (
        ("passes_passages", "Passes of the embedder for turns.", lambda: batching.passages.passes),
        ("passes_queries", "Passes of the embedder for queries.", lambda: batching.queries.passes),
        ("memories_open", "Memory files that are open.", lambda: namespaces.count),
        ("turns_in_ram", "Turns of threads in RAM.", lambda: namespaces.resident.turns),
    ):
        metrics.watch(name, about, value)
    app.add_middleware(Measured, metrics=metrics)
    app.add_middleware(Guard, settings=settings, shared=shared)
    return app


def _health(metrics: Metrics) -> APIRouter:
    routes = APIRouter(tags=["health"])

    @routes.get("/health/live")
    async def live() -> dict[str, str]:
        """Whether the server answers at all."""
        return {"status": "live"}

    @routes.get("/health/ready")
    async def ready(request: Request) -> Response:
        """Whether the model is loaded and memories can be used."""
        service: Service = request.app.state.service
        if not request.app.state.ready:
            return problems.problem(503, "not_ready", "the server is starting or stopping")
        await service.work(service.namespaces.reach)
        return Response('{"status":"ready"}', media_type="application/json")

    @routes.get("/metrics", include_in_schema=False)
    async def figures(request: Request) -> Response:
        service: Service = request.app.state.service
        principal = await service.work(lambda: service.principal(request))
        principal.require(Scope.ADMIN)
        if principal.namespace is not None:
            raise AccessError("metrics are of all namespaces; this key is for one")
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return routes
