"""A call of an MCP tool over HTTP, as one request."""

from typing import Any

import httpx


def called(client: httpx.Client, tool: str, **arguments: object) -> dict[str, Any]:
    """What a tool answers."""
    about = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": about},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    answer = client.post("/mcp", json=message, headers=headers)
    found: dict[str, Any] = answer.json()["result"]
    assert not found.get("isError"), found
    return found["structuredContent"]
