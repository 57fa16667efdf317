"""What it costs to import the engine, beside the interpreter, numpy and what a search loads.

python bench/imports.py [--runs 7]

Prints medians of wall and processor times of fresh interpreters that take turns, and the ratio of
processor times to numpy's, which depends less on what else the machine does.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping

PROGRAMS: Mapping[str, str] = {
    "python": "pass",
    "import numpy": "import numpy",
    "import tsim": "import tsim",
    "tsim --help": "import sys; sys.argv = ['tsim', '--help']; "
    "from tsim.cli.app import main; main()",
    "with the encoder": "import tsim.embed.onnx",
}


def seconds(code: str) -> tuple[float, float]:
    """Returns the wall and processor time of a fresh interpreter."""
    begun, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return time.perf_counter() - begun, spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    for code in PROGRAMS.values():  # writes byte code
        seconds(code)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in PROGRAMS}
    for _ in range(runs):
        for name, code in PROGRAMS.items():
            found[name].append(seconds(code))
    numpy = statistics.median(spent for _, spent in found["import numpy"])
    for name, times in found.items():
        wall, spent = (statistics.median(kind) for kind in zip(*times, strict=True))
        print(f"{name:18} {wall:6.3f} s  {spent:6.3f} CPU s  {spent / numpy:5.2f} × numpy")


if __name__ == "__main__":
    main()
