"""What answers: a model behind an HTTP API, or no model at all."""

from scaleqa.backends.protocol import (
    Backend,
    Call,
    ChatModel,
    Function,
    Message,
    Reply,
    Request,
    Said,
)
from scaleqa.backends.registry import open_backend, open_chat

__all__ = [
    "Backend",
    "Call",
    "ChatModel",
    "Function",
    "Message",
    "Reply",
    "Request",
    "Said",
    "open_backend",
    "open_chat",
]
