"""Assistants that use a memory by MCP: the SDK's own client, over every transport."""

import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette

from tsim.embed import Embedder
from tsim.server import running
from tsim.server.access.gate import Access
from tsim.server.mcp.http import McpEndpoint
from tsim.server.namespaces import Namespaces
from tsim.server.service import Service
from tsim.server.settings import Settings

# The current version of the protocol, and the one before it, which begins with a handshake.
VERSIONS = {"2026-07-28": "auto", "2025-11-25": "legacy"}
SECONDS = 30

Story = Callable[[Client], Awaitable[None]]


def tell(server: Any, story: Story, version: str = "2026-07-28") -> None:
    """Lets an assistant do something with a server."""

    async def connected() -> None:
        with anyio.fail_after(SECONDS):
            async with Client(server, mode=VERSIONS[version]) as client:
                assert client.protocol_version == version
                await story(client)

    anyio.run(connected)


def command(memory: Path, model: Path) -> StdioServerParameters:
    """What an assistant starts to use a memory file."""
    return StdioServerParameters(
        command=str(Path(sys.executable).with_name("tsim")),
        args=["mcp", "--memory", str(memory), "--model", str(model)],
        env={**os.environ, "TSIM_CACHE": str(memory.with_name("cache"))},
    )


@asynccontextmanager
async def by_http(url: str, headers: dict[str, str] | None = None) -> AsyncIterator[Any]:
    """A connection to a server, with a key."""
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


@contextmanager
def serving_mcp(place: Path, embedder: Embedder, **given: Any) -> Iterator[str]:
    """Serves memories on a free port; yields the URL of the server."""
    settings = Settings(place=place, port=0, **given)
    listening = running.listen(settings)
    with Access(settings.access) as access:
        namespaces = Namespaces(settings, embedder)
        endpoint = McpEndpoint(Service(settings, namespaces, access))

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with endpoint.run():
                yield

        app = Starlette(routes=endpoint.routes, lifespan=lifespan)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(SECONDS)
            namespaces.close()
        assert not thread.is_alive()
