"""Finding backends by name, built-in and third-party alike.

The entry-point group `scaleqa.backends` has a `BackendDeclaration` for each name.
"""

from pathlib import Path
from typing import Any

from scaleqa import plugins
from scaleqa.backends.cache import CachedBackend, CachedChat
from scaleqa.backends.declaration import Access, BackendDeclaration
from scaleqa.backends.protocol import Backend, ChatModel
from scaleqa.errors import DataError
from scaleqa.specs import Spec
from tsim import environment

GROUP = "scaleqa.backends"
PLAIN = Access()


def backends() -> list[BackendDeclaration[Any]]:
    """Returns all registered backends, ordered by name.

    Raises:
        DataError: One of them cannot be loaded.
    """
    return [find_backend(name) for name in plugins.points(GROUP)]


def find_backend(name: str) -> BackendDeclaration[Any]:
    """Returns the backend with the given name.

    Raises:
        DataError: There is no such backend, or it cannot be loaded.
    """
    found = plugins.load(GROUP, name, "backend")
    if not isinstance(found, BackendDeclaration):
        raise DataError(f"backend {name!r} is {found!r}; expected a BackendDeclaration")
    return found


def open_backend(spec: str, access: Access = PLAIN) -> Backend:
    """Opens a backend.

    Args:
        spec: `name` or `name:SUBJECT`, with optional `,key=value`: `extractive`,
            `openai:MODEL@BASE_URL`, `gguf:PATH,context=512`.
        access: API key, rate limit and caching.

    Raises:
        DataError: There is no such backend.
    """
    parsed = Spec.parse(spec, subject=True)
    declared = find_backend(parsed.name)
    backend = declared.open(parsed, access)
    if not access.cached or not declared.caches or backend.stand_in:
        return backend
    return CachedBackend(backend, _cache())


def open_chat(spec: str, access: Access = PLAIN) -> ChatModel:
    """Opens a chat model that systems can use; it is specified like a backend.

    Raises:
        DataError: There is no such backend, or it cannot chat.
    """
    parsed = Spec.parse(spec, subject=True)
    declared = find_backend(parsed.name)
    if declared.chats:
        model = declared.open(parsed, access)
        if isinstance(model, ChatModel):
            return CachedChat(model, _cache()) if access.cached else model
    forms = ", ".join(one.form for one in backends() if one.chats)
    raise DataError(f"{spec!r} is no chat model; write one of {forms}")


def _cache() -> Path:
    return environment.cache_dir() / "replies.db"
