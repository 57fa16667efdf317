"""A server that does as it is told."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Instead of a reply: the connection is closed, or nothing is said until the client gives up.
DROP, SILENCE = "drop", "silence"


def problem(status, kind, detail="…", **headers):
    body = {"type": "", "title": "", "status": status, "kind": kind, "detail": detail}
    return status, body, {"Content-Type": "application/problem+json"} | headers


def html(status):
    return status, b"<html>Bad gateway</html>", {"Content-Type": "text/html"}


class ScriptedServer(ThreadingHTTPServer):
    """Replies from `script`, the last of it again and again; notes what was asked."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = []
        self.seen = []
        self.ended = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size + 2)[:size]
            self.rfile.readline()
        script = self.server.script
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        reply = script.pop(0) if len(script) > 1 else script[0]
        if reply in (DROP, SILENCE):
            if reply == SILENCE:
                self.server.ended.wait(3)
            self.close_connection = True
            return
        status, said, headers = reply
        payload = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_POST = do_DELETE = do_GET  # noqa: N815  # as the base class calls them

    def log_message(self, *_arguments):
        pass
