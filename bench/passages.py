"""Finds needles in long turns: passage by passage, and by the head of each turn.

    python bench/passages.py [--budget 500] [--threads 27] [--json]

The turns are those of `long_turns.py`. By the head: each turn is embedded as one text, of which the
encoder reads the beginning. A needle is found if it is in the context.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import numpy as np
from long_turns import KINDS, Needle, threads

from tsim import Memory
from tsim.embed import Embedder, open_embedder
from tsim.embed.protocol import token_counter
from tsim.toolkit import Vector, Vectors

WORDINGS = ("same", "other")
# More tokens than any turn has.
ENDLESS = 10**9


class Kept:
    """An embedder that keeps vectors: threads have many passages in common."""

    def __init__(self, inner: Embedder, *, passages: bool = True) -> None:
        """Wraps an embedder; without passages, it claims to read texts of any length."""
        counter = token_counter(inner)
        self.inner = inner
        self.identity, self.dimension = inner.identity, inner.dimension
        self.reads = counter.reads if passages else ENDLESS
        self.count_tokens = counter.count_tokens
        self._known: dict[str, Vector] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds the texts that are new."""
        new = sorted({*texts} - self._known.keys())
        self._known.update(zip(new, self.inner.embed(new), strict=True))
        rows = [self._known[text] for text in texts]
        return np.stack(rows) if rows else self.inner.embed([])

    def embed_query(self, text: str) -> Vector:
        """Embeds a question."""
        return self.inner.embed_query(text)


def search(
    embedder: Embedder, budget: int, most: int | None = None
) -> Iterator[tuple[Needle, bool]]:
    """Asks for every needle; yields whether it was found.

    Args:
        embedder: The model.
        budget: Tokens of a context.
        most: Maximum number of threads.
    """
    with (
        tempfile.TemporaryDirectory() as directory,
        Memory.open(Path(directory) / "memory.db", model=embedder) as memory,
    ):
        for number, made in enumerate(islice(threads(), most)):
            thread = memory.thread(str(number))
            thread.add_many(made.turns)
            for needle in made.needles:
                yield needle, needle.text in thread.context(needle.question, budget=budget)


def shares(found: Sequence[tuple[Needle, bool]]) -> dict[str, float]:
    """Returns the share of needles found, by kind and wording, and of all."""
    groups = {
        f"{kind}, {wording} words": [
            hit for needle, hit in found if (needle.kind, needle.wording) == (kind, wording)
        ]
        for kind in KINDS
        for wording in WORDINGS
    }
    groups["all"] = [hit for _, hit in found]
    return {name: round(sum(hits) / len(hits), 3) for name, hits in groups.items() if hits}


def main() -> None:
    """Prints the shares found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--model")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    model = open_embedder(given.model)
    rows = {"passages": shares([*search(Kept(model), given.budget, given.threads)])}
    with patch("tsim.embed.passages.WHOLE_TOKENS", ENDLESS):
        whole = Kept(model, passages=False)
        rows["head only"] = shares([*search(whole, given.budget, given.threads)])
    if given.json:
        print(json.dumps(rows, indent=1))
        return
    for group in rows["passages"]:
        print(f"{group:24} {rows['passages'][group]:.3f}  head only {rows['head only'][group]:.3f}")


if __name__ == "__main__":
    main()
