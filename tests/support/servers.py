"""Real HTTP servers for tests: replies as scripted, then as they should be."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

# Status, body and headers of a reply; None behaves.
Scripted = tuple[int, object, dict[str, str]] | None
FAILURE: Scripted = (503, {}, {})
Server = TypeVar("Server", bound=ThreadingHTTPServer)


class JsonServer(ThreadingHTTPServer):
    """Takes replies from `script` while there are any, then from `answer`; notes what was asked."""

    def __init__(self, answer: Callable[[dict[str, Any]], object]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.script: list[Scripted] = []
        self.seen: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: JsonServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        auth = self.headers.get("authorization")
        self.server.seen.append({"path": self.path, "auth": auth, **body})
        scripted = self.server.script.pop(0) if self.server.script else None
        status, reply, headers = scripted or (200, self.server.answer(body), {})
        payload = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_args: object) -> None:
        pass


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Runs a server until the block ends."""
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def completion(content: str | None, **message: object) -> dict[str, Any]:
    """What a chat server answers."""
    return {
        "choices": [{"message": {"role": "assistant", "content": content, **message}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
    }
