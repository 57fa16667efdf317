"""The inspector: web pages that show what a memory holds, what it finds, and why."""

from tsim.server.inspector.pages import ROOT
from tsim.server.inspector.routes import router

__all__ = ["ROOT", "router"]
