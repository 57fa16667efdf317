"""Assistants that use a memory by MCP: the SDK's own client, over every transport."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

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
