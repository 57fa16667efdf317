"""Backends by name: the benchmark's own and others' are found the same way.

The entry-point group `scaleqa.backends` holds a `BackendDeclaration` for each name.
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
    """Returns all registered backends, by name.

    Raises:
        DataError: One of them cannot be loaded.
    """
    return [find_backend(name) for name in plugins.points(GROUP)]


def find_backend(name: str) -> BackendDeclaration[Any]:
    """Returns the backend of a name.

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
        access: Key, limits, cache.

    Raises:
        DataError: There is no such backend.
    """
    parsed = Spec.parse(spec, subject=True)
    backend = find_backend(parsed.name).open(parsed, access)
    if not access.cached or backend.stand_in:
        return backend
    return CachedBackend(backend, _cache())


def open_chat(spec: str, access: Access = PLAIN) -> ChatModel:
    """Opens a chat model that systems may use themselves, written as a backend is.

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
