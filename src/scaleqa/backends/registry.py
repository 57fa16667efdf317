"""Backends by what a user writes."""

from scaleqa.backends.extractive import Extractive
from scaleqa.backends.openai import OpenAI
from scaleqa.backends.protocol import Backend, ChatModel
from scaleqa.errors import DataError
from tsim import environment

DEFAULT_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"


def open_backend(spec: str) -> Backend:
    """Opens `extractive`, or `openai:MODEL` with an optional `@BASE_URL`.

    The key is read from OPENAI_API_KEY when the URL is https.

    Raises:
        DataError: There is no such backend.
    """
    kind, _, rest = spec.partition(":")
    if kind == "extractive" and not rest:
        return Extractive()
    if kind == "openai" and rest:
        model, _, url = rest.partition("@")
        base = url or DEFAULT_URL
        key = environment.api_key(KEY_VARIABLE) if base.startswith("https://") else None
        return OpenAI(model, base_url=base, key=key)
    raise DataError(
        f"no backend {spec!r}; there are extractive, and openai:MODEL or openai:MODEL@BASE_URL for "
        "any server with the OpenAI chat API (OpenAI, Gemini, DeepSeek, Ollama)"
    )


def open_chat(spec: str) -> ChatModel:
    """Opens a chat model that systems may use themselves, written as a backend is.

    Raises:
        DataError: There is no such backend, or it cannot chat.
    """
    backend = open_backend(spec)
    if not isinstance(backend, OpenAI):
        raise DataError(f"{spec!r} is no chat model; write openai:MODEL or openai:MODEL@BASE_URL")
    return backend
