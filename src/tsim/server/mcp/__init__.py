"""MCP: six tools and two resources by which assistants use a memory."""

from tsim.server.mcp.building import build
from tsim.server.mcp.opening import Opened, OpenMemory, Work, single

__all__ = ["OpenMemory", "Opened", "Work", "build", "single"]
