"""An endpoint as OpenAI's, for products that know no other hook for vectors or a language model.

It is in the process of the product, and asks the benchmark through the pipe.
"""

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .serving import Given

# Products ask for a key; nobody checks this one.
KEY = "none"
MODEL = "scaleqa"
# Of a reply, for products that name no limit.
MOST_TOKENS = 2000
# Requests wait for each other, and a model may be slow.
SECONDS = 24 * 60 * 60.0
ROLES = {"developer": "system"}
Answer = Callable[[Given, Mapping[str, Any]], dict[str, Any]]


def start(given: Given) -> str:
    """Starts an endpoint on this machine that ends with the process; returns its base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet: a second would wait for the first to be acknowledged

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = ANSWERS.get(self.path)
            if answer is None:
                self._send(404, {"error": {"message": f"there is no {self.path}"}})
            elif asked.get("stream") or asked.get("tools"):
                self._send(400, {"error": {"message": "neither streams nor tools are offered"}})
            else:
                self._send(200, answer(given, asked))

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

        def _send(self, status: int, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


def _embeddings(given: Given, asked: Mapping[str, Any]) -> dict[str, Any]:
    texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
    rows = [
        {"object": "embedding", "index": place, "embedding": vector}
        for place, vector in enumerate(given.embedder.embed(texts))
    ]
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return {"object": "list", "model": MODEL, "data": rows, "usage": usage}


def _completion(given: Given, asked: Mapping[str, Any]) -> dict[str, Any]:
    said = given.model.chat(
        [
            {"role": ROLES.get(one["role"], one["role"]), "content": _text(one["content"])}
            for one in asked["messages"]
        ],
        asked.get("max_completion_tokens") or asked.get("max_tokens") or MOST_TOKENS,
        asked.get("response_format"),
    )
    message = {"role": "assistant", "content": said.text}
    return {
        "id": "scaleqa",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": said.prompt_tokens,
            "completion_tokens": said.completion_tokens,
            "total_tokens": said.prompt_tokens + said.completion_tokens,
        },
    }


def _text(content: Any) -> str:
    """The text of a message, which may come in parts."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


ANSWERS: dict[str, Answer] = {
    "/v1/embeddings": _embeddings,
    "/v1/chat/completions": _completion,
}
