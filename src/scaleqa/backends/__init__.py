"""Answer backends: a model behind an HTTP API, a local model, or no model at all."""

from scaleqa.backends.counted import Counted
from scaleqa.backends.declaration import Access, BackendDeclaration
from scaleqa.backends.limit import Limiter, Pace, SharedLimiter
from scaleqa.backends.price import Price, read_price
from scaleqa.backends.protocol import (
    Backend,
    Call,
    ChatModel,
    Function,
    Message,
    Reply,
    Request,
)
from scaleqa.backends.registry import (
    backends,
    find_backend,
    open_backend,
    open_chat,
)
from scaleqa.backends.stop import Stop, StoppedError

__all__ = [
    "Access",
    "Backend",
    "BackendDeclaration",
    "Call",
    "ChatModel",
    "Counted",
    "Function",
    "Limiter",
    "Message",
    "Pace",
    "Price",
    "Reply",
    "Request",
    "SharedLimiter",
    "Stop",
    "StoppedError",
    "backends",
    "find_backend",
    "open_backend",
    "open_chat",
    "read_price",
]
