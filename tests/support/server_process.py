"""A server in a process of its own, with an embedder that costs nothing.

python -m tests.support.server_process PLACE '{"workers": 2}'
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from tests.support.hashes import Hashes
from tsim.server.settings import Limits, Settings
from tsim.vectors import Vector

ROOT = Path(__file__).parents[2]
# A question with this word takes some time, after a line on standard output.
SLOW, SECONDS = "slow", 1.5


class Slow(Hashes):
    """Takes its time where it is told to."""

    def embed_query(self, text: str) -> Vector:
        if SLOW in text:
            print(SLOW, flush=True)  # noqa: T201
            time.sleep(SECONDS)
        return super().embed_query(text)


class Serving:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def client(self, **options: Any) -> httpx.Client:
        # Without certificates, which take a while to load.
        return httpx.Client(base_url=self.url, timeout=30, verify=False, **options)

    def resident(self) -> int:
        """Bytes in RAM."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) << 10


@contextmanager
def serving(
    place: Path, limits: dict[str, Any] | None = None, begun: Callable[[], None] | None = None
) -> Iterator[Serving]:
    """Starts a server; `begun` is called in its process first."""
    command = [
        sys.executable,
        "-m",
        "tests.support.server_process",
        str(place),
        json.dumps(limits or {}),
    ]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=begun
    ) as process:
        assert process.stdout is not None
        try:
            yield Serving(process, int(process.stdout.readline()))
        finally:
            process.kill()


def main() -> None:
    from tsim.server.app import create_app
    from tsim.server.running import listen, make_server, serve

    limits = Limits(**json.loads(sys.argv[2]))
    settings = Settings(place=Path(sys.argv[1]), port=0, keys=False, limits=limits)
    app = create_app(settings, embedder=Slow())
    listening = listen(settings)
    ready = partial(print, listening.getsockname()[1], flush=True)
    serve(make_server(app, settings, ready), listening)


if __name__ == "__main__":
    main()
