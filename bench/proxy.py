"""What `tsim proxy` saves, and what it costs: a scripted model with and without it before.

    python bench/proxy.py [--target 16k] [--subset 40] [--lengths 1k 16k 64k] [--requests 60]

The model (`tests/support/upstream.py`) is a script that stands in for a language model, in a
process of its own; so is the proxy. First `scaleqa` asks its questions in the closed loop, sending
the whole thread as a chat with each of them (`conversing.py`), to the model itself and through the
proxy: is the evidence in what the model was sent, and how much was it sent? Then threads of several
lengths are sent to both in turn, and what the proxy adds is shown with and without the embedding of
the question, and by stage; the time of the model itself, which says how long it took, is left out.
Between them is a pause, as between questions of people: what was said is written meanwhile. The
figures to judge by are made while nothing else runs: the load is printed.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

import httpx

from scaleqa.backends.extractive import Extractive
from scaleqa.backends.openai import OpenAI
from scaleqa.datasets import open_threads
from scaleqa.evaluate import Reading, Row, RunSettings, run_package
from scaleqa.prompts import template
from tsim.embed import open_embedder

HERE = Path(__file__).parent
# As `tests/support/upstream.py` says how long it took.
TOOK = "x-upstream-took"
SYSTEM = f"{HERE / 'conversing.py'}:SYSTEM"
SECONDS = 600.0
# Questions that are asked about a thread, again and again.
SUBSET = 10
KEY = {"Authorization": "Bearer bench"}
# What the proxy does with a request, in this order.
STAGES = ("parse", "read", "look-up", "search", "assemble")


@contextmanager
def process(*command: str) -> Iterator[tuple[str, int]]:
    """Runs a server; yields the first line that it prints, and its number."""
    with subprocess.Popen(
        command, cwd=HERE.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline().strip(), running.pid
        finally:
            running.terminate()


@contextmanager
def model() -> Iterator[str]:
    """Runs the scripted model; yields its base URL."""
    with process(sys.executable, "-m", "tests.support.upstream") as (url, _):
        yield url


@contextmanager
def proxy(upstream: str, budget: int, recent: int) -> Iterator[tuple[str, int]]:
    """Runs a proxy with an empty memory; yields its base URL, and the number of its process."""
    with tempfile.TemporaryDirectory() as directory:
        port = str(random.Random(os.getpid()).randrange(20_000, 40_000))
        options = ["--upstream", upstream, "--at", directory, "--port", port, "--json"]
        options += ["--budget", str(budget), "--recent", str(recent), "--wait", str(SECONDS)]
        tsim = str(Path(sys.executable).parent / "tsim")
        with process(tsim, "proxy", *options) as (_, number):  # ready when it says something
            yield f"http://127.0.0.1:{port}/v1", number


def closed_loop(base: str, where: str, system: str) -> list[Row]:
    """Asks all questions, and writes exchanges back."""
    embedder = open_embedder(cached=True)
    rows: list[Row] = []
    for package in open_threads(where):
        model = OpenAI("repeat", base_url=base)
        reading = Reading(backend=Extractive(), template=template("answer.v1"))
        settings = RunSettings(system=system, reading=reading, model=model, detail=False)
        rows += run_package(package, settings, embedder)
        model.close()
    return rows


def saved(where: str, budget: int, recent: int) -> None:
    """Prints what the model is sent, and whether the evidence is in it."""
    found: dict[str, list[Row]] = {}
    with model() as direct:
        found["the whole thread, direct"] = closed_loop(direct, where, SYSTEM)
        with proxy(direct, budget, recent) as (proxied, _):
            found[f"through the proxy, --budget {budget}"] = closed_loop(proxied, where, SYSTEM)
        sent = found[f"through the proxy, --budget {budget}"]
        tokens = round(mean(row.context_tokens for row in sent))
        newest = f"full_context:budget={tokens}"
        found["the newest part, as many tokens"] = closed_loop(direct, where, newest)
        library = f"tsim:budget={budget}"
        found[f"the library alone, budget={budget}"] = closed_loop(direct, where, library)
    print(f"{where}: the model is a script; tokens are scaleqa's (1.3 x words)\n")
    print(f"{'':38}{'questions':>10}{'tokens sent':>13}{'evidence in it':>16}")
    for name, rows in found.items():
        present = [row for row in rows if row.present]
        hit, length = mean(row.hit for row in present), mean(row.context_tokens for row in rows)
        print(f"{name:38}{len(present):10}{length:13.0f}{hit:16.3f}")
    print()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Milliseconds of one request, as its sender and as the proxy measured them."""

    whole: float
    model: float
    memory: float = 0.0
    embedding: float = 0.0
    stages: Mapping[str, float] = field(default_factory=dict)


def conversation(where: str) -> tuple[list[dict[str, Any]], list[str]]:
    """A thread as a chat, and questions about it."""
    package = open_threads(where)[0]
    roles = {"model": "assistant"}
    said = [{"role": roles.get(one.role, one.role), "content": one.text} for one in package.stream]
    return said, [question.question for question in package.questions]


def send(client: httpx.Client, base: str, chat: Sequence[dict[str, Any]], streamed: bool) -> Timed:
    """Sends a chat; returns the time until its answer, or the first piece of it, is there."""
    body = {"model": "echo", "messages": chat, "stream": streamed}
    begun = time.perf_counter()
    with client.stream("POST", f"{base}/chat/completions", json=body, headers=KEY) as answer:
        pieces = answer.iter_raw()
        next(pieces)
        took = 1000 * (time.perf_counter() - begun)
        for _ in pieces:
            pass
    timing = answer.headers.get("server-timing", "tsim;dur=0, tsim-embed;dur=0")
    named = (one.strip().split(";dur=") for one in timing.split(","))
    stages = {name.removeprefix("tsim").removeprefix("-"): float(ms) for name, ms in named}
    memory, embedding = stages.pop(""), stages.pop("embed")
    model = float(answer.headers[TOOK])
    return Timed(whole=took, model=model, memory=memory, embedding=embedding, stages=stages)


def learnt(client: httpx.Client, base: str, chat: Sequence[dict[str, Any]]) -> str:
    """Sends a chat until the proxy has learnt it; returns what it does then."""
    did = "learning"
    while did == "learning":
        body = {"model": "echo", "messages": chat}
        answer = client.post(f"{base}/chat/completions", json=body, headers=KEY)
        did = answer.raise_for_status().headers["x-tsim-memory"]
    return str(did)


def added(lengths: Sequence[str], requests: int, pause: float, budget: int, recent: int) -> None:
    """Prints how long requests take, direct and through the proxy, in turn."""
    columns = ("direct", "proxied", "ratio", "added", "embedding", "added besides", "p95", "CPU")
    head = "".join(f"{name:>15}" for name in columns)
    print(
        f"{requests} requests each, ms: medians, the 95th percentile of what is added besides the"
    )
    print("embedding, and what the proxy computes for each request, writing included")
    print("the second line of each: what the proxy says of that, by stage; `forward` is what is")
    print(
        "left, the way to it and on to the model, `threads` what its own stages leave of its time"
    )
    print(f"\n{'thread':36}{head}")
    with model() as direct, proxy(direct, budget, recent) as (proxied, number):
        for length in lengths:
            said, questions = conversation(f"scaleqa:split=s2,target={length},subset={SUBSET}")
            with httpx.Client(timeout=SECONDS) as client:
                did = learnt(client, proxied, [*said, {"role": "user", "content": "Hello."}])
                for streamed in (False, True):
                    pairs, used = [], cpu(number)
                    for place in range(requests):
                        # Numbered, so that none is asked twice.
                        text = f"{questions[place % len(questions)]} ({place}{streamed:d})"
                        chat = [*said, {"role": "user", "content": text}]
                        plain = send(client, direct, chat, streamed)
                        pairs.append((plain, send(client, proxied, chat, streamed)))
                        time.sleep(pause)
                    each = (cpu(number) - used) / requests
                    kind = f"{length}, {len(said)} turns ({did}{', streamed' if streamed else ''})"
                    print(f"{kind:36}{_line(pairs)}{each:15.1f}")
                    print(f"{'':8}{_stages(pairs)}", flush=True)


def cpu(number: int) -> float:
    """Returns the milliseconds that a process has computed so far."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _line(pairs: Sequence[tuple[Timed, Timed]]) -> str:
    direct = median(plain.whole for plain, _ in pairs)
    through = median(other.whole for _, other in pairs)
    differences = [_added(plain, other) for plain, other in pairs]
    besides = [_added(plain, other) - other.embedding for plain, other in pairs]
    embedding = median(other.embedding for _, other in pairs)
    figures = [direct, through, through / direct, median(differences), embedding]
    figures += [median(besides), quantiles(besides, n=20)[-1]]
    return "".join(f"{figure:15.1f}" for figure in figures)


def _added(plain: Timed, other: Timed) -> float:
    """What the proxy adds: the model takes longer to read the whole thread, which is no saving."""
    return (other.whole - other.model) - (plain.whole - plain.model)


def _stages(pairs: Sequence[tuple[Timed, Timed]]) -> str:
    through = [other for _, other in pairs]
    names = sorted({name for one in through for name in one.stages}, key=STAGES.index)
    found = {name: median(one.stages.get(name, 0.0) for one in through) for name in names}
    found["threads"] = median(o.memory - o.embedding - sum(o.stages.values()) for o in through)
    found["forward"] = median(_added(plain, other) - other.memory for plain, other in pairs)
    return ", ".join(f"{name} {took:.1f}" for name, took in found.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--target", default="16k", help="length of the thread")
    parser.add_argument("--subset", type=int, default=40, help="questions about it; 0 for none")
    parser.add_argument("--lengths", nargs="*", default=["1k", "16k", "64k"], help="of threads")
    parser.add_argument("--requests", type=int, default=60, help="for each length, to each server")
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between requests")
    parser.add_argument("--budget", type=int, default=1100, help="tokens of what is retrieved")
    parser.add_argument("--recent", type=int, default=10, help="messages that are kept")
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    if given.subset:
        where = f"scaleqa:split=s2,target={given.target},subset={given.subset}"
        saved(where, given.budget, given.recent)
    if given.lengths:
        added(given.lengths, given.requests, given.pause, given.budget, given.recent)


if __name__ == "__main__":
    main()
