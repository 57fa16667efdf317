"""An endpoint for embeddings as OpenAI's, for products that know no other hook for vectors."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .serving import Embedder

# Products ask for a key; nobody checks this one.
KEY = "none"
MODEL = "scaleqa"


def start(embedder: Embedder) -> str:
    """Starts an endpoint on this machine that ends with the process; returns its base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet: a second would wait for the first to be acknowledged

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
            rows = [
                {"object": "embedding", "index": place, "embedding": vector}
                for place, vector in enumerate(embedder.embed(texts))
            ]
            usage = {"prompt_tokens": 0, "total_tokens": 0}
            answer = {"object": "list", "model": MODEL, "data": rows, "usage": usage}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
