"""A cache of replies on disk.

The key is everything that determines a reply: the backend's identity (model, address, sampling) and
the whole request. Failures and empty replies are not cached. Several threads and processes can
share the file.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scaleqa.backends.protocol import (
    MOST_TOKENS,
    Backend,
    Call,
    ChatModel,
    Function,
    Message,
    Reply,
    Request,
)
from tsim.blobs import Blobs

TABLE = "replies"


class CachedBackend:
    """A backend whose replies are cached on disk."""

    def __init__(self, inner: Backend, path: Path) -> None:
        """Opens the cache file, or creates it."""
        self.identity = inner.identity
        self.stand_in = inner.stand_in
        self._inner = inner
        self._blobs = Blobs(path, TABLE)

    def reply(self, request: Request) -> Reply:
        """Answers one request, from the cache if possible."""
        key = _key(self.identity, "reply", asdict(request))
        found = _read(self._blobs, key)
        if found is not None:
            return found
        reply = self._inner.reply(request)
        if reply.text:
            _write(self._blobs, key, reply)
        return reply

    def close(self) -> None:
        """Closes the cache file and the backend."""
        self._blobs.close()
        self._inner.close()


class CachedChat:
    """A chat model whose replies are cached on disk."""

    def __init__(self, inner: ChatModel, path: Path) -> None:
        """Opens the cache file, or creates it."""
        self.identity = inner.identity
        self._inner = inner
        self._blobs = Blobs(path, TABLE)

    def chat(
        self,
        messages: Sequence[Message],
        functions: Sequence[Function] = (),
        *,
        most_tokens: int = MOST_TOKENS,
        response_format: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Returns the next message, from the cache if possible."""
        form = {"response_format": response_format} if response_format else {}
        request = {
            "messages": [asdict(message) for message in messages],
            "functions": [asdict(function) for function in functions],
            "most_tokens": most_tokens,
            **form,
        }
        key = _key(self.identity, "chat", request)
        found = _read(self._blobs, key)
        if found is not None:
            return found
        reply = self._inner.chat(messages, functions, most_tokens=most_tokens, **form)
        if reply.text or reply.calls:
            _write(self._blobs, key, reply)
        return reply

    def close(self) -> None:
        """Closes the cache file and the model."""
        self._blobs.close()
        self._inner.close()


def _key(identity: str, kind: str, request: dict[str, Any]) -> bytes:
    content = json.dumps([identity, kind, request], sort_keys=True)
    return hashlib.sha256(content.encode()).digest()


def _read(blobs: Blobs, key: bytes) -> Reply | None:
    blob = blobs.read([key]).get(key)
    if blob is None:
        return None
    found: dict[str, Any] = json.loads(blob)
    calls = tuple(Call(**call) for call in found.pop("calls", ()))
    return Reply(**{**found, "cached": True}, calls=calls)


def _write(blobs: Blobs, key: bytes, reply: Reply) -> None:
    blobs.write({key: json.dumps(asdict(reply), sort_keys=True).encode()})
