"""Processes that add, search and forget in one memory while some of them are killed.

Each process writes to a thread that all share and to one of its own. The parent kills one now and
then with SIGKILL and starts another. It checks that

- every turn that was acknowledged and not forgotten is there, with its text;
- nothing of a turn whose receipt says that it was erased is in the file or beside it, looked for as
  soon as the receipt arrives;
- no writer starves: the slowest addition of each process is printed;
- the memory is sound, and finds the same after everything is computed anew.

    python bench/soak.py --seconds 60 --processes 8

Vectors are made from hashes, so that no model is needed and writing takes most of the time.
"""

import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tsim import LATE, OFFICIAL, Memory
from tsim.presets import AnyPreset
from tsim.toolkit import Vector, Vectors, unit

PRESETS: dict[str, AnyPreset] = {"late": LATE, "official": OFFICIAL}
WORDS = "budget letter bread train gpu project rule garden invoice harbour violin meadow".split()


class Hashes:
    """An embedder without a model: the same text has the same vector."""

    identity = "soak/hashes"
    dimension = 32

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns one unit vector per text."""
        rows = [np.frombuffer(hashlib.sha256(t.encode()).digest(), dtype=np.uint8) for t in texts]
        out = np.array(rows, dtype=np.float32).reshape(-1, self.dimension) - 127.5
        return unit(out)

    def embed_query(self, text: str) -> Vector:
        """Returns the vector of a query."""
        row: Vector = self.embed([text])[0]
        return row


def work(path: Path, name: str, preset: str, pause: float) -> None:
    """Adds, searches and forgets until killed or told to stop; prints what was acknowledged."""
    rng = random.Random(name)
    stop = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait, daemon=True).start()
    with Memory.open(path, model=Hashes(), preset=PRESETS[preset]) as memory:
        count = 0
        while not stop.is_set():
            thread = memory.thread(rng.choice(("shared", name.split("-")[0])))
            secret = f"{name}x{count}x{rng.randbytes(12).hex()}"
            count += 1
            text = f"{secret} {' '.join(rng.choices(WORDS, k=rng.choice((3, 20, 90, 600))))}"
            begun = time.monotonic()
            turn = thread.add(rng.choice(("user", "model")), text).turn
            print("add", thread.name, turn, secret, time.monotonic() - begun, flush=True)
            if rng.random() < 0.3:
                thread.search(" ".join(rng.choices(WORDS, k=4)))
                print("search", flush=True)
            if rng.random() < 0.1:
                print("will", thread.name, turn, secret, flush=True)
                done = thread.forget(turn=turn).scrubbed
                print("forget", thread.name, turn, secret, int(done), flush=True)
            time.sleep(pause)


class Soak:
    """The parent's view: what was acknowledged, and what was found."""

    def __init__(self, path: Path, preset: str, pause: float) -> None:
        """Begins with nothing."""
        self.path, self.preset, self.pause = path, preset, pause
        self.counts: Counter[str] = Counter()
        self.kept: dict[tuple[str, int], str] = {}
        self.going: dict[tuple[str, int], str] = {}
        self.gone: list[str] = []
        self.slowest: dict[str, float] = {}
        self.traces: list[str] = []
        self._lock = threading.Lock()
        self._started = 0
        self._listeners: list[threading.Thread] = []

    def start(self, place: int) -> subprocess.Popen[str]:
        """Starts a process and listens to it."""
        self._started += 1
        name = f"p{place}-{self._started}"
        command = [sys.executable, __file__, "--worker", name, "--path", str(self.path)]
        command += ["--preset", self.preset, "--pause", str(self.pause)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        listener = threading.Thread(target=self._listen, args=(process, name.split("-")[0]))
        listener.start()
        self._listeners.append(listener)
        return process

    def join(self) -> None:
        """Waits until everything that was printed has been read."""
        for listener in self._listeners:
            listener.join()

    def _listen(self, process: subprocess.Popen[str], place: str) -> None:
        for line in process.stdout or ():
            if not line.endswith("\n"):
                return  # cut off by a kill
            kind, *rest = line.split()
            with self._lock:
                self.counts[kind] += 1
                if kind == "add":
                    self.kept[rest[0], int(rest[1])] = rest[2]
                    self.slowest[place] = max(self.slowest.get(place, 0.0), float(rest[3]))
                elif kind == "will":
                    self.going[rest[0], int(rest[1])] = self.kept.pop((rest[0], int(rest[1])))
                elif kind == "forget":
                    del self.going[rest[0], int(rest[1])]
                    self.gone.append(rest[2])
                    self.counts["erased at once"] += int(rest[3])
            if kind == "forget" and rest[3] == "1":
                self.look([rest[2]])

    def look(self, secrets: list[str]) -> None:
        """Looks for removed content in the file and beside it."""
        for file in self.path.parent.glob(f"{self.path.name}*"):
            data = file.read_bytes()
            self.traces += [f"{s} in {file.name}" for s in secrets if s.encode() in data]

    def check(self) -> list[str]:
        """Checks the memory when all have stopped; returns the problems."""
        with Memory.open(self.path, model=Hashes(), preset=PRESETS[self.preset]) as memory:
            problems = list(memory.verify().problems)
            turns = {name: memory.thread(name).turns() for name in memory.threads()}
            found = {(name, one.id): one.text for name, ours in turns.items() for one in ours}
            for key, secret in self.kept.items():
                if not found.get(key, "").startswith(secret):
                    problems.append(f"turn {key} was acknowledged and is not there")
            self.counts["turns left"] = len(found)
            found_before = {name: _found(memory, name) for name in turns}
            memory.rebuild()
            if self.preset == "late":  # clusters of the paper's method depend on what was forgotten
                problems += [
                    f"thread {name}: a rebuild finds something else"
                    for name, before in found_before.items()
                    if _found(memory, name) != before
                ]
        self.look(self.gone)
        return problems + [f"forgotten, but found: {trace}" for trace in self.traces]


def _found(memory: Memory, name: str) -> list[tuple[tuple[int, ...], float]]:
    """Returns what a search finds; a rebuild numbers episodes anew, but not turns."""
    hits = memory.thread(name).search("budget letter", min_relevance=0)
    return [(tuple(turn.id for turn in hit.turns), hit.score) for hit in hits]


def soak(seconds: float, processes: int, kills: float, preset: str, pause: float) -> int:
    """Runs all of it; returns the exit code."""
    rng = random.Random(processes)
    with tempfile.TemporaryDirectory() as folder:
        run = Soak(Path(folder) / "memory.db", preset, pause)
        crowd = [run.start(place) for place in range(processes)]
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            time.sleep(rng.uniform(0.5, 1.5) / kills if kills else 0.5)
            place = rng.randrange(processes)
            if kills:
                os.kill(crowd[place].pid, signal.SIGKILL)
                run.counts["kill"] += 1
                crowd[place].wait()
                crowd[place] = run.start(place)
        for process in crowd:
            if process.stdin:
                process.stdin.close()
        codes = [process.wait(120) for process in crowd]
        run.join()
        size = run.path.stat().st_size
        problems = run.check() + [f"a process ended with {code}" for code in codes if code]
    for kind in sorted(run.counts):
        print(f"{run.counts[kind]:>8}  {kind}")
    print(f"{size:>8}  bytes")
    for name, longest in sorted(run.slowest.items()):
        print(f"{longest:>8.2f}  seconds: the slowest addition of {name}")
    print(f"{len(problems):>8}  problems", *problems[:20], sep="\n")
    return int(bool(problems))


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--kills", type=float, default=1, help="kills per second; 0 for none")
    parser.add_argument("--preset", choices=sorted(PRESETS), default="late")
    parser.add_argument("--pause", type=float, default=0, help="seconds between two additions")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.path, given.worker, given.preset, given.pause)
    else:
        sys.exit(soak(given.seconds, given.processes, given.kills, given.preset, given.pause))


if __name__ == "__main__":
    main()
