"""A server with the OpenAI chat API that says and does what it is told: it stands in for a model.

The name of the model in a request says how it behaves: `echo`, `tools`, `429`, `500`, `cut`,
`broken`, `endless`, `flood`, `slow`, `gzip`, `silent`, `repeat`.

python -m tests.support.upstream runs it in a process of its own.
"""

import asyncio
import gzip
import json
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.support.served import SECONDS
from tsim.server import running
from tsim.server.settings import Settings

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city":  "Gent"}'},
}
# Pieces of an answer that is cut.
CUT = ["From ", "May ", "on, "]
FLOOD = 128 << 20
# The header with the milliseconds that an answer took to begin, once its request was there.
TOOK = "x-upstream-took"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes

    @cached_property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.json["messages"]
        return found


@dataclass(kw_only=True)
class Upstream:
    """What was asked of the server, and what it waits for."""

    url: str = ""
    seen: list[Asked] = field(default_factory=list)
    # Set to let slow answers go; set by the server when a client has gone.
    go: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)
    sent: int = 0

    def reset(self) -> None:
        """Forgets what was asked."""
        self.seen.clear()
        self.go.clear()
        self.left.clear()

    @property
    def last(self) -> Asked:
        return self.seen[-1]

    async def answer(self, request: Request) -> Response:
        body = await request.body()
        asked = Asked(
            method=request.method,
            path=request.url.path,
            query=request.url.query,
            headers=dict(request.headers),
            body=body,
        )
        self.seen.append(asked)
        if request.url.path != "/api/v1/chat/completions":
            return JSONResponse({"path": request.url.path}, headers={"X-Upstream": "yes"})
        begun = time.perf_counter()
        try:
            model = asked.json["model"]
        except ValueError:
            return _error(400, "not JSON")
        behaviour = getattr(self, f"_{model}", None)
        watching = asyncio.create_task(self._watch(request))
        try:
            found: Response = await (behaviour or self._echo)(asked)
        finally:
            watching.cancel()
        found.headers[TOOK] = f"{1000 * (time.perf_counter() - begun):.3f}"
        return found

    async def _watch(self, request: Request) -> None:
        """Notes that a client has gone before anything was answered."""
        while not await request.is_disconnected():
            await asyncio.sleep(0.01)
        self.left.set()

    async def _429(self, asked: Asked) -> Response:
        return _error(429, "slow down", {"Retry-After": "0.01"})

    async def _500(self, asked: Asked) -> Response:
        return _error(500, "oh no")

    async def _echo(self, asked: Asked) -> Response:
        return _completion(asked, _said(asked))

    async def _slow(self, asked: Asked) -> Response:
        await asyncio.to_thread(self.go.wait, SECONDS)
        return _completion(asked, _said(asked))

    async def _gzip(self, asked: Asked) -> Response:
        whole = json.dumps(_whole(asked, [{"role": "assistant", "content": _said(asked)}]))
        packed = gzip.compress(whole.encode())
        return Response(packed, headers={"Content-Encoding": "gzip"}, media_type="application/json")

    async def _silent(self, asked: Asked) -> Response:
        return _completion(asked, "")

    async def _tools(self, asked: Asked) -> Response:
        if asked.messages[-1]["role"] == "tool":
            return _completion(asked, f"It is {asked.messages[-1]['content']}.")
        if not asked.json.get("stream"):
            message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
            return JSONResponse(_whole(asked, [message]))
        function = CALL["function"]
        assert isinstance(function, dict)
        first = {**CALL, "index": 0, "function": {"name": function["name"], "arguments": ""}}
        pieces: list[dict[str, Any]] = [{"tool_calls": [first]}]
        for letters in ('{"city"', ':  "Gent"}'):
            pieces.append({"tool_calls": [{"index": 0, "function": {"arguments": letters}}]})
        return _streamed(asked, pieces, end="tool_calls")

    async def _repeat(self, asked: Asked) -> Response:
        """Says nothing that could be remembered, and calls a tool with what it was sent."""
        arguments = json.dumps({"messages": asked.messages})
        call = {"id": "call_1", "type": "function"}
        called = {**call, "function": {"name": "received", "arguments": arguments}}
        message = {"role": "assistant", "content": None, "tool_calls": [called]}
        self.seen.clear()
        return JSONResponse(_whole(asked, [message]))

    async def _cut(self, asked: Asked) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            for word in CUT:
                yield _event(_chunk(asked, {"content": word}))
                await asyncio.sleep(0.01)
            raise ConnectionError("cut, as it was told to")

        return StreamingResponse(pieces(), media_type="text/event-stream")

    async def _broken(self, asked: Asked) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            yield b": a comment\n\n"
            yield _event(_chunk(asked, {"content": "whole "}))
            yield b'data: {"choices": [{"delta"\n\n'
            yield (
                b"event: nothing\r\nid: 7\r\n\r\ndata:"
                + json.dumps(_chunk(asked, {"content": "again"}, end="stop")).encode()
                + b"\r\n\r\n"
            )
            yield b"data: [DONE]\n\n"

        return StreamingResponse(pieces(), media_type="text/event-stream; charset=utf-8")

    async def _endless(self, asked: Asked) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield _event(_chunk(asked, {"content": "and on "}))
                    await asyncio.sleep(0.01)
            finally:
                self.left.set()

        return StreamingResponse(pieces(), media_type="text/event-stream")

    async def _flood(self, asked: Asked) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            piece = b": " + b"x" * 65533 + b"\n"
            while self.sent < FLOOD:
                self.sent += len(piece)
                yield piece

        self.sent = 0
        return StreamingResponse(pieces(), media_type="text/event-stream")


def _said(asked: Asked) -> str:
    texts = [one["content"] for one in asked.messages if one["role"] == "user"]
    last = texts[-1] if isinstance(texts[-1], str) else texts[-1][0].get("text", "an image")
    return f"You said: {last}"


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    error = {"error": {"message": message, "type": "scripted", "code": None}}
    return JSONResponse(error, status, headers={"x-request-id": "req-1", **(headers or {})})


def _whole(asked: Asked, messages: list[dict[str, Any]]) -> dict[str, Any]:
    reason = "tool_calls" if messages[0].get("tool_calls") else "stop"
    choices = [
        {"index": number, "message": message, "finish_reason": reason, "logprobs": None}
        for number, message in enumerate(messages)
    ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": asked.json["model"],
        "choices": choices,
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def _completion(asked: Asked, text: str) -> Response:
    wanted = asked.json
    texts = [text, *(f"{text} ({number})" for number in range(1, wanted.get("n") or 1))]
    if not wanted.get("stream"):
        messages = [{"role": "assistant", "content": one, "refusal": None} for one in texts]
        return JSONResponse(_whole(asked, messages))
    words = [
        (place, number, f" {word}" if place else word)
        for number, one in enumerate(texts)
        for place, word in enumerate(one.split(" "))
    ]
    pieces = [{"index": number, "content": word} for _, number, word in sorted(words)]
    return _streamed(asked, [{"role": "assistant", "content": ""}, *pieces])


def _streamed(asked: Asked, deltas: list[dict[str, Any]], end: str = "stop") -> Response:
    wanted = asked.json

    async def pieces() -> AsyncIterator[bytes]:
        for delta in deltas:
            yield _event(_chunk(asked, delta))
        yield _event(_chunk(asked, {}, end=end))
        if (wanted.get("stream_options") or {}).get("include_usage"):
            usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
            yield _event({**_chunk(asked, {}), "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"

    return StreamingResponse(pieces(), media_type="text/event-stream")


def _chunk(asked: Asked, delta: dict[str, Any], end: str | None = None) -> dict[str, Any]:
    delta = dict(delta)
    choice: dict[str, Any] = {"index": delta.pop("index", 0), "delta": delta, "finish_reason": end}
    if asked.json.get("logprobs") and delta.get("content"):
        token = {"token": delta["content"], "logprob": -0.5, "bytes": None, "top_logprobs": []}
        choice["logprobs"] = {"content": [token], "refusal": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": asked.json["model"],
        "choices": [choice],
    }


def _event(value: object) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


@contextmanager
def upstream() -> Iterator[Upstream]:
    """Runs the server; its base URL ends with /api/v1."""
    found = Upstream()
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    app = Starlette(routes=[Route("/api/{path:path}", found.answer, methods=methods)])
    with run(app) as url:
        found.url = f"{url}/api/v1"
        yield found
        found.go.set()


@contextmanager
def run(app: Starlette) -> Iterator[str]:
    """Runs an application on a free port of this machine, in a thread; yields its URL."""
    listening = running.listen(Settings(place=Path(), port=0))
    config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        assert not thread.is_alive()


def main() -> None:
    with upstream() as found:
        print(found.url, flush=True)  # noqa: T201
        sys.stdin.read()


if __name__ == "__main__":
    main()
