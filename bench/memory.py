"""What remembering costs: both presets beside the embedder alone, Chroma, and plain per-turn RAG.

    python bench/memory.py [--turns 1000 10000 100000] [--dims 384 1024] [--json]

Vectors of the large runs are drawn, not computed: what is timed is everything but the embedding.
The embedder itself is timed on the first thousand turns. Chroma (three cosine HNSW collections,
as in the paper) runs where it is installed: pip install 'scaleqa[bench]'. It is queried both ways:
one thread a collection, and threads told apart by a filter.
"""

import argparse
import importlib.util
import json
import platform
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tsim import LATE, OFFICIAL, Memory, NewTurn
from tsim.embed import open_embedder
from tsim.errors import ModelError
from tsim.presets import AnyPreset
from tsim.store import SqliteStore
from tsim.toolkit import DenseIndex, Vector, Vectors, best, unit

WORDS = (
    "order invoice server rule garden train recipe budget meeting letter price window printer "
    "report morning ticket project customer delivery exception policy version switch contract"
).split()
# Words of drawn threads are like those of English: not quite half are small, the others follow
# Zipf's law, a few in every turn and most in a handful.
SMALL = "the to and of a in is it for that on with you as this".split()
SHARE = 0.45
# Words of a sentence.
SENTENCE = 9
VOCABULARY = 50_000
METHODS = (LATE, OFFICIAL)
QUERIES = 60
ADDS = 200


class Drawn:
    """Vectors drawn by the text, as far apart as real ones, for nothing.

    A text begins with the number of its topic, eight turns each, so that the stream has runs.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.identity = f"drawn-{dimension}"
        self.seconds = 0.0
        self.texts = 0
        self._pool = np.random.default_rng(1).normal(size=(20_011, dimension)).astype(np.float32)
        self._topics = np.random.default_rng(2).normal(size=(401, dimension)).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Draws a vector a text, and counts what that took."""
        start = time.perf_counter()
        keys = np.array([zlib.crc32(text.encode()) for text in texts])
        numbers = [text.partition(" ")[0] for text in texts]
        topics = np.array([int(n) if n.isdigit() else len(n) for n in numbers])
        rows = unit(1.2 * self._topics[topics % 401] + self._pool[keys % 20_011])
        self.texts += len(texts)
        self.seconds += time.perf_counter() - start
        return rows

    def embed_query(self, text: str) -> Vector:
        """Draws the query's vector."""
        row: Vector = self.embed([text])[0]
        return row


def thread(count: int, *, english: bool = False) -> list[NewTurn]:
    rng = random.Random(5)
    return [
        NewTurn(
            role=("user", "model")[n % 2],
            text=said(str(n // 8), [word(rng, english) for _ in range(rng.randint(4, 36))]),
        )
        for n in range(count)
    ]


def said(topic: str, words: Sequence[str]) -> str:
    """Sentences of a few words, as in talk: turns of 20 words and more have two to four."""
    return " ".join(
        [topic, *(f"{w}." if n % SENTENCE == SENTENCE - 1 else w for n, w in enumerate(words))]
    )


def word(rng: random.Random, english: bool) -> str:
    if english:
        return rng.choice(WORDS)
    return rng.choice(SMALL) if rng.random() < SHARE else f"w{int(VOCABULARY ** rng.random())}"


def question(number: int) -> str:
    """A topic, a word that is rare and one that is not."""
    return f"{number} which rule for w{100 + 77 * number} and w{3 + number % 5}?"


def milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def quantiles(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "p50": round(statistics.median(ordered), 2),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 2),
    }


def ours(
    directory: Path, turns: list[NewTurn], dimension: int, preset: AnyPreset
) -> dict[str, Any]:
    embedder = Drawn(dimension)
    path = directory / f"{preset.name}.db"
    with Memory.open(path, model=embedder, preset=preset) as memory:
        start = time.perf_counter()
        memory.thread("t").add_many(turns)
        spent = time.perf_counter() - start - embedder.seconds
        texts = embedder.texts
        thread_ = memory.thread("t")
        adds, searches = [], []
        for n in range(ADDS):
            before = embedder.seconds
            took = milliseconds(partial(thread_.add, "user", f"{n} one more order to plan"))
            adds.append(took - 1000 * (embedder.seconds - before))
        for n in range(QUERIES):
            before = embedder.seconds
            took = milliseconds(partial(thread_.search, question(n)))
            searches.append(took - 1000 * (embedder.seconds - before))
    opened = subprocess.run(
        [sys.executable, __file__, "--open", str(path), str(dimension)],
        capture_output=True,
        text=True,
        check=True,
    )
    return {
        "ingest_ms_per_turn": round(1000 * spent / len(turns), 3),
        "texts_per_turn": round(texts / len(turns), 3),
        "add_ms": quantiles(adds),
        "search_ms": quantiles(searches),
        **json.loads(opened.stdout),
    }


def open_and_weigh(path: Path, dimension: int) -> None:
    """Runs in a process of its own: what opening takes, and what stays in memory."""

    def resident() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1]) if _linux() else 0
        return pages * 4096

    embedder = Drawn(dimension)
    embedder.embed(["warm"])
    before = resident()
    start = time.perf_counter()
    with Memory.open(path, model=embedder) as memory:
        memory.thread("t").search("which rule?")
        seconds = time.perf_counter() - start
        after = resident()
        state = SqliteStore(path).load("t")
        summaries = sum(episode.vector is not None for episode in state.episodes)
        vectors = len(state.turn_ids) + summaries + len(state.clusters)
    size = vectors * dimension * 4
    print(
        json.dumps(
            {
                "vectors": vectors,
                "open_seconds": round(seconds, 2),
                "memory_over_vectors": round((after - before) / size, 2) if _linux() else None,
            }
        )
    )


def _linux() -> bool:
    return platform.system() == "Linux"


def fsyncs(directory: Path) -> float | None:
    """Counts fsyncs of single adds, where strace is installed."""
    if not shutil.which("strace"):
        return None
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from memory import Drawn, thread\n"
        "from tsim import Memory\n"
        "with Memory.open(sys.argv[2], model=Drawn(384)) as m:\n"
        "    for t in thread(int(sys.argv[3])): m.thread('t').add(t.role, t.text)\n"
    )
    counts = []
    for turns in (100, 400):
        command = ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", sys.executable, "-c", code]
        path = directory / f"fsync{turns}.db"
        ran = subprocess.run(
            [*command, str(Path(__file__).parent), str(path), str(turns)],
            capture_output=True,
            text=True,
            check=True,
        )
        rows = [line.split() for line in ran.stderr.splitlines() if "sync" in line]
        counts.append(sum(int(row[3]) for row in rows if row[-1] in ("fsync", "fdatasync")))
    return (counts[1] - counts[0]) / 300


def plain_rag(directory: Path, turns: list[NewTurn], dimension: int) -> dict[str, Any]:
    """One vector a turn, a row in a table, the five nearest."""
    embedder = Drawn(dimension)
    connection = sqlite3.connect(directory / "rag.db")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE turn (id INTEGER PRIMARY KEY, text TEXT, vector BLOB)")
    rows = DenseIndex(dimension)
    start = time.perf_counter()
    for first in range(0, len(turns), 512):
        some = turns[first : first + 512]
        vectors = embedder.embed([turn.text for turn in some])
        with connection:
            connection.executemany(
                "INSERT INTO turn VALUES (?, ?, ?)",
                [(first + n, t.text, vectors[n].tobytes()) for n, t in enumerate(some)],
            )
        rows.extend(vectors)
    spent = time.perf_counter() - start - embedder.seconds
    searches = []
    for n in range(QUERIES):
        query = embedder.embed_query(question(n))
        start = time.perf_counter()
        best(rows.scores(query), 5)
        searches.append(1000 * (time.perf_counter() - start))
    connection.close()
    return {
        "ingest_ms_per_turn": round(1000 * spent / len(turns), 3),
        "search_ms": quantiles(searches),
    }


def chroma(directory: Path, turns: list[NewTurn], dimension: int) -> dict[str, Any]:
    """The same three views in three Chroma collections, queried as the paper does."""
    import chromadb
    from chromadb.config import Settings

    store = SqliteStore(directory / "official.db")
    state = store.load("t")
    client = chromadb.PersistentClient(
        str(directory / "chroma"), settings=Settings(anonymized_telemetry=False)
    )
    views = {
        "raw": (state.turn_ids, state.turn_vectors, 28),
        "summary": (
            [e.id for e in state.episodes if e.vector is not None],
            np.stack([e.vector for e in state.episodes if e.vector is not None]),
            20,
        ),
        "cluster": (
            [c.id for c in state.clusters],
            np.stack([c.vector for c in state.clusters]),
            2,
        ),
    }
    collections = {}
    start = time.perf_counter()
    for name, (ids, vectors, _) in views.items():
        made = client.create_collection(name, metadata={"hnsw:space": "cosine"})
        for first in range(0, len(ids), 512):
            made.add(
                ids=[str(i) for i in ids[first : first + 512]],
                embeddings=vectors[first : first + 512],
                documents=[f"document {i}" for i in ids[first : first + 512]],
                metadatas=[{"thread": "t"} for _ in ids[first : first + 512]],
            )
        collections[name] = made
    spent = time.perf_counter() - start
    embedder = Drawn(dimension)
    timings: dict[str, list[float]] = {"alone": [], "within": []}
    for n in range(QUERIES):
        query = embedder.embed_query(question(n))
        for kind, where in (("alone", None), ("within", {"thread": "t"})):
            start = time.perf_counter()
            for name, (_, _, count) in views.items():
                collections[name].query(query_embeddings=[query], n_results=count, where=where)
            timings[kind].append(1000 * (time.perf_counter() - start))
    one = embedder.embed(["one more"])
    adds = []
    for n in range(50):
        start = time.perf_counter()
        collections["raw"].add(ids=[f"x{n}"], embeddings=one, documents=["x"])
        adds.append(1000 * (time.perf_counter() - start))
    store.close()
    return {
        "ingest_ms_per_turn": round(1000 * spent / len(turns), 3),
        "add_ms": quantiles(adds),
        "search_ms": quantiles(timings["alone"]),
        "search_within_thread_ms": quantiles(timings["within"]),
    }


def embedder_alone(directory: Path) -> dict[str, Any] | None:
    """The real model on a thousand turns, alone and under the memory."""
    turns = thread(1000, english=True)  # what a tokenizer makes of invented words takes longer
    try:
        embedder = open_embedder()
        embedder.embed(["warm"])
    except ModelError as error:
        print(error, file=sys.stderr)
        return None
    alone = milliseconds(lambda: embedder.embed([turn.text for turn in turns])) / len(turns)
    found = {"embedder_ms_per_turn": round(alone, 2)}
    for preset in METHODS:
        with Memory.open(directory / f"{preset.name}.db", model=embedder, preset=preset) as memory:
            whole = milliseconds(partial(memory.thread("t").add_many, turns)) / len(turns)
        found[f"{preset.name}_ms_per_turn"] = round(whole, 2)
        found[f"{preset.name}_over_embedder"] = round(whole / alone, 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--dims", type=int, nargs="+", default=[384, 1024])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--open", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.open:
        open_and_weigh(Path(options.open[0]), int(options.open[1]))
        return
    results: dict[str, Any] = {"runs": []}
    with tempfile.TemporaryDirectory() as name:
        results["real"] = embedder_alone(Path(name))
        results["fsyncs_per_add"] = fsyncs(Path(name))
    if not options.json:
        print("MiniLM, 1,000 turns:", results["real"])
        print("fsyncs per add:", results["fsyncs_per_add"])
    for dimension in options.dims:
        for count in options.turns:
            with tempfile.TemporaryDirectory() as name:
                turns = thread(count)
                run = {
                    "turns": count,
                    "dimension": dimension,
                    **{p.name: ours(Path(name), turns, dimension, p) for p in METHODS},
                    "plain_rag": plain_rag(Path(name), turns, dimension),
                }
                if importlib.util.find_spec("chromadb"):
                    run["chroma"] = chroma(Path(name), turns, dimension)
                    run["times_faster_than_chroma"] = {
                        p.name: [
                            round(run["chroma"][kind]["p50"] / run[p.name]["search_ms"]["p50"], 1)
                            for kind in ("search_ms", "search_within_thread_ms")
                        ]
                        for p in METHODS
                    }
                results["runs"].append(run)
                if not options.json:
                    show(run)
    if options.json:
        print(json.dumps(results, indent=2))


def show(run: dict[str, Any]) -> None:
    print(f"\n{run['turns']} turns, {run['dimension']} dimensions")
    for name in (*(preset.name for preset in METHODS), "chroma", "plain_rag"):
        if name in run:
            print(f"  {name:10}", json.dumps(run[name]))
    if "times_faster_than_chroma" in run:
        for name, (alone, within) in run["times_faster_than_chroma"].items():
            print(
                f"  search at p50, {name} over Chroma: {alone} × (one thread a collection), "
                f"{within} × (threads told apart by a filter, as ours does)"
            )


if __name__ == "__main__":
    main()
