"""Reads millions of damaged inputs with every parser of both packages.

    python bench/fuzz.py --seconds 600 --seed 1

The time is divided evenly among the parsers. Exits with 1 if anything but an error of the two
packages came out, or if an input took longer than the limit.
"""

import argparse
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.fuzzing import Found, Target, fuzz
from tests.support.parsers import targets

# Much more than any input of this size should take, on a busy machine too.
SECONDS_PER_INPUT = 5.0
IN_RAM = Path("/dev/shm")  # noqa: S108 - a directory below it has a name that cannot be guessed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0, help="for all parsers together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="parsers whose name contains this")
    arguments = parser.parse_args()
    place = IN_RAM if IN_RAM.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as directory:
        every = [one for one in targets(Path(directory)) if arguments.only in one.name]
        share = arguments.seconds / len(every)
        found = {one.name: _run(one, arguments.seed, share) for one in every}
    total = sum(one.inputs for one in found.values())
    print(f"{'all':20} {total:>10,}")
    bad = [name for name, one in found.items() if one.failures or one.slowest > SECONDS_PER_INPUT]
    if bad:
        sys.exit(f"failed: {', '.join(bad)}")


def _run(target: Target, seed: int, seconds: float) -> Found:
    found = fuzz(target, seed, seconds=seconds)
    print(
        f"{target.name:20} {found.inputs:>10,} inputs {found.accepted:>10,} accepted "
        f"{1000 * found.slowest:>9.1f} ms at most",
        flush=True,
    )
    if found.slowest > SECONDS_PER_INPUT:
        print(f"  slow: {found.slowest_input[:200]!r}")
    for text, error in found.failures:
        print(f"  {text[:500]!r}")
        print("".join(traceback.format_exception(error)))
    return found


if __name__ == "__main__":
    main()
