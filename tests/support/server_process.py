"""A server in a process of its own, with an embedder that costs nothing.

python -m tests.support.server_process PLACE '{"workers": 2}' PROCESSES
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.hashes import Hashes
from tsim.errors import InputError
from tsim.server.processes import Shared
from tsim.server.settings import Limits, Settings
from tsim.vectors import Vector

ROOT = Path(__file__).parents[2]
# A question with this word takes some time, after a line on standard output.
SLOW, SECONDS = "slow", 1.5
# The header of an answer that names the process it comes from.
PROCESS = "x-process"
# A file in the place, because of which no process can start.
BROKEN = "broken"


class Slow(Hashes):
    """Takes its time where it is told to."""

    def embed_query(self, text: str) -> Vector:
        if SLOW in text:
            os.write(1, f"{SLOW}\n".encode())  # at once: several processes share the pipe
            time.sleep(SECONDS)
        return super().embed_query(text)


class Named:
    """Says which process answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def naming(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[PROCESS] = str(os.getpid())
            await send(message)

        await self._app(scope, receive, naming)


class Serving:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def client(self, **options: Any) -> httpx.Client:
        # Without certificates, which take a while to load.
        return httpx.Client(base_url=self.url, timeout=30, verify=False, **options)

    @contextmanager
    def clients(self, count: int = 2, **options: Any) -> Iterator[list[httpx.Client]]:
        """Yields clients whose connections are to different processes."""
        found: dict[str, httpx.Client] = {}
        with ExitStack() as stack:
            while len(found) < count:
                # All of them again: a connection that is idle for long is closed.
                asked = [*found.values(), stack.enter_context(self.client(**options))]
                found = {}
                for one in asked:
                    process = one.get("/health/live").headers[PROCESS]
                    if found.setdefault(process, one) is not one:
                        one.close()
            yield [*found.values()]

    def resident(self) -> int:
        """Bytes in RAM."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) << 10


@contextmanager
def serving(
    place: Path,
    limits: dict[str, Any] | None = None,
    begun: Callable[[], None] | None = None,
    *,
    processes: int = 1,
    keys: bool = False,
    store: str | None = None,
    errors: int | None = None,
) -> Iterator[Serving]:
    """Starts a server; `begun` is called in its process first."""
    command = [
        sys.executable,
        "-m",
        "tests.support.server_process",
        str(place),
        json.dumps(limits or {}),
        str(processes),
        str(int(keys)),
        store or "",
    ]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        preexec_fn=begun,
    ) as process:
        assert process.stdout is not None
        try:
            yield Serving(process, int(process.stdout.readline() or 0))
        finally:
            process.kill()


def make(settings: Settings, shared: Shared) -> FastAPI:
    from tsim.server.app import create_app

    if (settings.place / BROKEN).exists():
        raise InputError("the place is broken")
    app = create_app(settings, embedder=Slow(), shared=shared)
    app.add_middleware(Named)
    return app


def main() -> None:
    from tsim.server.processes import supervising
    from tsim.server.processes.starting import run

    supervising.ATTEMPTS = 1
    place, limits, processes, keys, store = sys.argv[1:]
    settings = Settings(
        place=Path(place),
        store=store or None,
        port=0,
        keys=keys == "1",
        limits=Limits(**json.loads(limits)),
    )
    run(make, settings, processes=int(processes), started=partial(print, flush=True))


if __name__ == "__main__":
    main()
