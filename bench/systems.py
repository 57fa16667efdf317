"""What each system costs on one thread of 128k tokens, beside standard_rag in the same run.

    python bench/systems.py [--system raptor hipporag] [--package PATH] [--questions 100] [--json]

Each system runs in a process of its own, so that none finds another's libraries, parses or
compiled code warm. Vectors come from the embedding cache: a system that had to compute some is run
once more, and ingest and first request of that first run are told as cold. What is no vector of a
text (token vectors, parses, trees) is computed in every run. The first request has a column of its
own, since a system may put work off until then; the questions that are timed come after it. The
processor's time is that of ingest and first request, over all cores; a busy machine lengthens it
less than the others.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from scaleqa.errors import DataError
from scaleqa.evaluate.feed import CHUNK
from scaleqa.noise import shipped_pool
from scaleqa.packages import BuildSettings, Package, Question, build, load_packages, write_packages
from scaleqa.records import shipped
from scaleqa.systems import Asked, System, Tools, memories, open_system, system_names
from tsim.embed import CachedEmbedder, open_embedder
from tsim.toolkit import tokens

TARGET = 128_000
REFERENCE = "standard_rag"
# Heading, key, digits, and whether it is told beside the reference.
COLUMNS = (
    ("cold s", "cold_seconds", 1, False),
    ("ingest s", "ingest_seconds", 2, True),
    ("ms/turn", "ingest_ms_per_turn", 3, False),
    ("first s", "first_request_seconds", 2, False),
    ("cpu s", "cpu_seconds", 1, False),
    ("p50 ms", "retrieve_p50_ms", 1, True),
    ("p95 ms", "retrieve_p95_ms", 1, False),
    ("peak MB", "peak_growth_mb", 0, False),
    ("vectors", "vectors", 0, False),
    ("tokens", "context_tokens", 0, False),
)


def peak() -> int | None:
    """The most bytes this process held, as Linux tells it; None elsewhere."""
    if platform.system() != "Linux":
        return None
    rows = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(row.split()[1]) for row in rows if row.startswith("VmHWM"))


def forget_peak() -> None:
    """Loading the embedding model takes more for a moment than most systems ever do."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def measure(spec: str, path: Path, questions: int) -> dict[str, Any]:
    """Runs in a process of its own: one system, one thread."""
    package = load_packages(path)[0]
    embedder = open_embedder(cached=True)
    assert isinstance(embedder, CachedEmbedder)
    embedder.embed_query("warm")
    embedder.inner.embed(["warm"])
    forget_peak()
    computed, before = embedder.stats.computed, peak()
    try:
        system = open_system(spec, Tools(embedder=embedder))
    except DataError as error:
        return {"skipped": str(error)}
    try:
        began, spent = time.perf_counter(), time.process_time()
        for start in range(0, len(package.stream), CHUNK):
            system.ingest(package.stream[start : start + CHUNK])
        ingest = time.perf_counter() - began
        first, *_ = requests(system, package.questions[:1])
        spent = time.process_time() - spent
        later = requests(system, package.questions[1 : questions + 1])
        most = peak()
        return {
            "ingest_seconds": round(ingest, 3),
            "ingest_ms_per_turn": round(1000 * ingest / len(package.stream), 4),
            "first_request_seconds": round(first[0] / 1000, 3),
            "cpu_seconds": round(spent, 2),
            "retrieve_p50_ms": round(statistics.median(took for took, _ in later), 2),
            "retrieve_p95_ms": round(statistics.quantiles([t for t, _ in later], n=20)[-1], 2),
            "peak_growth_mb": round((most - before) / 1e6) if most and before else None,
            "vectors": system.account().vectors,
            "context_tokens": round(statistics.mean(length for _, length in later), 1),
            "texts_computed": embedder.stats.computed - computed,
        }
    finally:
        system.close()


def requests(system: System, asking: Sequence[Question]) -> list[tuple[float, int]]:
    """Asks questions; tells the milliseconds and the context's tokens of each."""
    out = []
    for one in asking:
        asked = Asked(id=one.id, question=one.question, options=one.options)
        began = time.perf_counter()
        found = system.retrieve(asked)
        took = 1000 * (time.perf_counter() - began)
        out.append((took, tokens.by_words(found.context)))
    return out


def alone(spec: str, path: Path, questions: int) -> dict[str, Any]:
    """Measures in a fresh process; once more if vectors had to be computed."""
    command = [sys.executable, __file__, "--one", spec]
    command += ["--package", str(path), "--questions", str(questions)]
    runs: list[dict[str, Any]] = []
    while len(runs) < 2 and (not runs or runs[0].get("texts_computed")):
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        runs.append(json.loads(ran.stdout))
    row = runs[-1]
    if len(runs) > 1:
        cold = runs[0]["ingest_seconds"] + runs[0]["first_request_seconds"]
        row["cold_seconds"] = round(cold, 3)
        row["texts_computed"] = runs[0]["texts_computed"]
    return row


def question_ms(package: Package, questions: int) -> float:
    """What embedding a question takes when no cache has it."""
    embedder = open_embedder()
    embedder.embed_query("warm")
    times = []
    for query in package.questions[1 : questions + 1]:
        began = time.perf_counter()
        embedder.embed_query(query.question)
        times.append(1000 * (time.perf_counter() - began))
    return round(statistics.median(times), 2)


def line(name: str, row: dict[str, Any], reference: dict[str, Any]) -> str:
    if "skipped" in row:
        return f"{name:14}  skipped: {row['skipped']}"
    cells = ""
    for _, key, digits, beside in COLUMNS:
        value = row.get(key)
        cells += f"{'–':>10}" if value is None else f"{value:>10,.{digits}f}"
        if beside:
            cells += f"{row[key] / reference[key]:>8.1f}"
    return f"{name:14}{cells}"


def slowest(rows: dict[str, dict[str, Any]]) -> str:
    ran = {name: row for name, row in rows.items() if "skipped" not in row}
    ready = {n: row["ingest_seconds"] + row["first_request_seconds"] for n, row in ran.items()}
    last = max(ready, key=lambda name: ready[name])
    slow = max(ran, key=lambda name: float(ran[name]["retrieve_p50_ms"]))
    return (
        f"latest to be ready (ingest and first request): {last}, {ready[last]:.1f} s\n"
        f"slowest request at p50: {slow}, {ran[slow]['retrieve_p50_ms']:.1f} ms"
    )


def compare(names: Sequence[str], path: Path, options: argparse.Namespace) -> None:
    package = load_packages(path)[0]
    around = {
        **{key: package.stats[key] for key in ("turns", "tokens")},
        "questions": min(options.questions, len(package.questions) - 1),
        "cores": os.cpu_count(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "not set"),
        "embed_question_ms": question_ms(package, options.questions),
    }
    told = print if not options.json else lambda *_, **__: None
    told(", ".join(f"{key} {value}" for key, value in around.items()))
    told(f"requests are timed with the question's vector cached; × is over {REFERENCE}")
    told(f"{'':14}" + "".join(f"{n:>10}{'×' * r:>{8 * r}}" for n, _, _, r in COLUMNS), flush=True)
    rows: dict[str, dict[str, Any]] = {}
    for name in [REFERENCE, *(name for name in names if name != REFERENCE)]:
        rows[name] = alone(name, path, options.questions)
        told(line(name, rows[name], rows[REFERENCE]), flush=True)
    told(slowest(rows))
    if options.json:
        print(json.dumps({**around, "systems": rows}, indent=2))


def main() -> None:
    names = memories(system_names())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--system", nargs="+", default=names, help="names, or name:key=value,…")
    parser.add_argument("--package", type=Path, help="a package; one is built when not given")
    parser.add_argument("--questions", type=int, default=100, help="after the first; at least 2")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.questions < 2:
        parser.error("--questions should be at least 2")
    if options.one:
        print(json.dumps(measure(options.one, options.package, options.questions)))
    elif options.package:
        compare(options.system, options.package, options)
    else:
        with tempfile.TemporaryDirectory() as name:
            settings = BuildSettings(target=TARGET)
            packages = build(shipped(), shipped_pool().dialogues, settings)
            write_packages(packages[:1], Path(name))
            compare(options.system, Path(name), options)


if __name__ == "__main__":
    main()
