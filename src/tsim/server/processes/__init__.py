"""Several processes that are one server: they share a socket, and what must be the same in all."""

from tsim.server.processes.shared import Shared

__all__ = ["Shared"]
