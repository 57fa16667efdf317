"""What vectors of encoders have in common: measures it again, and compares it with what ships.

    python bench/common.py [--write]

The mean vector of gte-small, and the directions in which the vectors of joined encoders have most
of their length, both over all turns of split s1. Embedding them takes some minutes the first time.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from scaleqa.datasets import open_threads
from tsim.embed import common, open_embedder
from tsim.embed.models import JOINED, find_spec
from tsim.toolkit import Vectors

HERE = Path(common.__file__).parent
# Threads that together have all turns of the split.
THREADS = (
    "target=128k,wording=other",
    "asides=true,target=128k",
    "talk=friends,target=0",
    "talk=assistant,target=0",
)


def turns() -> list[str]:
    """Returns the different turns of the split, in order."""
    sources = (open_threads(f"scaleqa:split=s1,{options}") for options in THREADS)
    return sorted({t.text for own in sources for package in own for t in package.stream})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace what ships")
    write = parser.parse_args().write
    texts = turns()
    print(f"{len(texts)} turns")
    spec = find_spec("gte-small")
    whole = open_embedder("gte-small", cached=False)
    raw = whole.inner  # type: ignore[attr-defined]
    raw.settings = replace(spec.settings, common="")
    vectors = raw.embed(texts)
    mean = vectors.mean(axis=0)
    compare("gte-small", mean, write=write)
    for joined in JOINED:
        # Not from the cache, where vectors may be without another mean.
        parts = [
            common.remove(vectors, mean) if part is spec else open_embedder(part.name).embed(texts)
            for part in joined.parts
        ]
        found = common.principal(np.concatenate(parts, axis=1), joined.dimension)
        compare(joined.name, found.astype(np.float16), write=write)


def compare(name: str, found: Vectors, *, write: bool) -> None:
    """Prints how far the shipped values are from those that were found."""
    file = HERE / f"{name}.npy"
    if write:
        np.save(file, found)
    held = common.load(name)
    if held.ndim == 1:
        print(f"{name}: largest difference {np.abs(held - found).max():.2e}")
    else:  # directions may be turned into each other: compare what they keep
        kept = np.linalg.norm(held.T @ found.astype(np.float32), axis=0).min()
        print(f"{name}: each direction is in the span of those that ship by at least {kept:.4f}")


if __name__ == "__main__":
    main()
