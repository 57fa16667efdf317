"""MCP over HTTP: every request has a key, and is about the key's namespace."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from tsim.errors import LimitError, TsimError
from tsim.server import problems
from tsim.server.access import Scope
from tsim.server.guard import allowed_hosts
from tsim.server.mcp.building import build
from tsim.server.mcp.opening import Opened
from tsim.server.service import Caller, Service, require_named
from tsim.server.settings import Settings

PATH = "/mcp"

# Who sends the request that is being answered. There is no default: without it nothing is opened.
_caller: ContextVar[Caller] = ContextVar("tsim_mcp_caller")


class McpEndpoint:
    """Answers MCP at `/mcp` and `/mcp/{namespace}`. No request depends on an earlier one."""

    def __init__(self, service: Service) -> None:
        """Prepares the endpoint; it answers while `run` is entered.

        Args:
            service: Knows the callers and the memories.
        """
        self._service = service
        self._sessions: StreamableHTTPSessionManager | None = None
        self.routes = [Route(path, _Asgi(self)) for path in (PATH, f"{PATH}/{{namespace}}")]

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Answers requests until the block ends."""
        service = self._service
        server = build(
            self._open,
            work=service.work,
            describe=problems.detail,
            limits=service.settings.limits,
            secret=service.shared.secret_for("mcp"),
        )
        server.streamable_http_app(
            json_response=True,
            stateless_http=True,
            max_request_body_size=service.settings.limits.body,
            transport_security=security(service.settings),
        )
        async with server.session_manager.run():
            self._sessions = server.session_manager
            try:
                yield
            finally:
                self._sessions = None

    async def app(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Answers a request, as an ASGI application."""
        if scope["method"] != "POST":
            # Nothing is sent unasked, and there are no sessions to end.
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        named = scope.get("path_params", {}).get("namespace")
        connection = HTTPConnection(scope)
        try:
            sessions = self._running()
            caller = await self._service.work(lambda: self._service.caller(connection, None, named))
            require_named(caller, named)
        except TsimError as error:
            await problems.answer(error)(scope, receive, send)
            return
        mark = _caller.set(caller)
        try:
            await sessions.handle_request(scope, receive, send)
        finally:
            _caller.reset(mark)

    def _running(self) -> StreamableHTTPSessionManager:
        if self._sessions is None:
            raise LimitError("the server is starting or stopping; try again in a second")
        return self._sessions

    @contextmanager
    def _open(self, scope: Scope, *, create: bool = False) -> Iterator[Opened]:
        caller = _caller.get()
        caller.principal.require(scope)
        service = self._service

        def note(action: str, **about: object) -> None:
            service.note(caller, action, **about)

        with service.memory(caller, create=create) as memory:
            yield Opened(memory=memory, namespace=caller.namespace, note=note)


def security(settings: Settings) -> TransportSecuritySettings:
    """Returns the names by which clients may address the server, and whose pages may call it."""
    names = allowed_hosts(settings)
    if names is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [host for name in sorted(names) for host in (name, f"{name}:*")]
    return TransportSecuritySettings(
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts],
    )


class _Asgi:
    """An instance, since a router takes functions for handlers rather than applications."""

    def __init__(self, endpoint: McpEndpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        await self._endpoint.app(scope, receive, send)
