"""What answers: a model behind an HTTP API, or no model at all."""

from scaleqa.backends.protocol import Backend, Reply, Request
from scaleqa.backends.registry import open_backend

__all__ = ["Backend", "Reply", "Request", "open_backend"]
