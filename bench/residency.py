"""What threads take in RAM: many threads of one memory, searched one after the other.

    python bench/residency.py [--threads 2000] [--turns 50] [--dims 384] [--resident 20000]

Each figure is from a process of its own: how much the resident set grows while every thread is
searched once, with a bound and without. Vectors are drawn, as in `memory.py`.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from memory import METHODS, Drawn, question, thread

from tsim import Memory, NewTurn


def fill(path: Path, name: str, threads: int, turns: int, dimension: int) -> None:
    drawn = thread(20 * turns)
    with Memory.open(path, model=Drawn(dimension), preset=name) as memory:
        for number in range(threads):
            rng = random.Random(number)
            said = [NewTurn(role=one.role, text=one.text) for one in rng.sample(drawn, turns)]
            memory.thread(f"t{number}").add_many(said)


def weigh(path: Path, threads: int, dimension: int, resident: int | None) -> None:
    """Runs in a process of its own: searches every thread and prints what that took."""
    embedder = Drawn(dimension)
    with Memory.open(path, model=embedder, resident=resident) as memory:
        memory.thread("t0").search(question(0))
        before = pages()
        for number in range(threads):
            memory.thread(f"t{number}").search(question(number % 60))
        print(json.dumps({"bytes": 4096 * (pages() - before)}))


def pages() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--resident", type=int, default=20_000)
    parser.add_argument("--weigh", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.weigh:
        path, bound = options.weigh
        weigh(Path(path), options.threads, options.dims, int(bound) or None)
        return
    sizes = [f"--threads={options.threads}", f"--dims={options.dims}"]
    for preset in METHODS:
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "m.db"
            fill(path, preset.name, options.threads, options.turns, options.dims)
            grown = [
                json.loads(
                    subprocess.run(
                        [sys.executable, __file__, *sizes, "--weigh", str(path), str(bound)],
                        capture_output=True,
                        text=True,
                        check=True,
                    ).stdout
                )["bytes"]
                for bound in (0, options.resident)
            ]
        count = options.threads * options.turns
        print(
            f"{preset.name}: {options.threads} threads of {options.turns} turns: "
            f"{grown[0] / 1e6:.0f} MB without a bound ({grown[0] / count:.0f} bytes a turn), "
            f"{grown[1] / 1e6:.0f} MB with {options.resident} turns, "
            f"ratio {grown[1] / grown[0]:.3f}"
        )


if __name__ == "__main__":
    main()
