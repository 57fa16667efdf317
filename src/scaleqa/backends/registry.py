"""Backends by what a user writes."""

from dataclasses import dataclass
from pathlib import Path

from scaleqa.backends.cache import CachedBackend, CachedChat
from scaleqa.backends.extractive import Extractive
from scaleqa.backends.gguf import CONTEXT, Gguf
from scaleqa.backends.limit import Limiter
from scaleqa.backends.models import FILE, find_model
from scaleqa.backends.openai import OpenAI
from scaleqa.backends.protocol import Backend, ChatModel
from scaleqa.errors import DataError
from scaleqa.options import read_options, take
from tsim import environment, weights

DEFAULT_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How backends are reached.

    Attributes:
        key_variable: The environment variable that holds the key. If none is named, it is
            OPENAI_API_KEY, and only https addresses are sent it.
        limiter: Shared by all servers asked.
        cached: Whether replies are kept on disk.
    """

    key_variable: str | None = None
    limiter: Limiter | None = None
    cached: bool = True


PLAIN = Access()


def open_backend(spec: str, access: Access = PLAIN) -> Backend:
    """Opens a backend.

    Args:
        spec: `extractive`; `openai:MODEL` with an optional `@BASE_URL`; or `gguf:NAME`, `gguf:PATH`
            with optional `,rationale=TOKENS` and `,context=TOKENS`.
        access: Key, limits, cache.

    Raises:
        DataError: There is no such backend.
    """
    backend = _open(spec, access)
    if not access.cached or isinstance(backend, Extractive):
        return backend
    return CachedBackend(backend, _cache())


def open_chat(spec: str, access: Access = PLAIN) -> ChatModel:
    """Opens a chat model that systems may use themselves, written as a backend is.

    Raises:
        DataError: There is no such backend, or it cannot chat.
    """
    backend = _open(spec, access)
    if not isinstance(backend, ChatModel):
        raise DataError(f"{spec!r} is no chat model; write openai:MODEL[@BASE_URL] or gguf:NAME")
    return CachedChat(backend, _cache()) if access.cached else backend


def _cache() -> Path:
    return environment.cache_dir() / "replies.db"


def _open(spec: str, access: Access) -> Backend:
    kind, _, rest = spec.partition(":")
    if kind == "extractive" and not rest:
        return Extractive()
    if kind == "openai" and rest:
        return _openai(rest, access)
    if kind == "gguf" and rest:
        return _gguf(spec, rest)
    raise DataError(
        f"no backend {spec!r}; there are extractive; openai:MODEL or openai:MODEL@BASE_URL for any "
        "server with the OpenAI chat API (OpenAI, Gemini, DeepSeek, Ollama); and gguf:NAME or "
        "gguf:PATH for a model on this machine"
    )


def _openai(rest: str, access: Access) -> OpenAI:
    model, _, url = rest.partition("@")
    base = url or DEFAULT_URL
    wanted = access.key_variable or (KEY_VARIABLE if base.startswith("https://") else None)
    key = environment.api_key(wanted) if wanted else None
    return OpenAI(model, base_url=base, key=key, limiter=access.limiter)


def _gguf(spec: str, rest: str) -> Gguf:
    name, _, more = rest.partition(",")
    options = take(read_options(spec, more), rationale=0, context=CONTEXT)
    settings = {key: int(value) for key, value in options.items()}
    path = Path(name).expanduser()
    if path.is_file():
        return Gguf(path.stem, path, sha256=weights.sha256_of(path), **settings)
    known = find_model(name)
    path = weights.require(environment.cache_dir(), known) / FILE
    return Gguf(known.name, path, sha256=known.files[0].sha256, **settings)
