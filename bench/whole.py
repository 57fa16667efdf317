"""Whose evidence stays whole: cuts of the paper's rule by its threshold, and of fixed windows.

    python bench/whole.py scaleqa:target=128k
    python bench/whole.py packages/128k --model gte-small --json

`below` is the share of turns that are less similar to those before them than the threshold, so
that the rule would cut there were the episode long enough. `whole` is the share of questions with
several evidence turns for which one episode or window holds them all, whether it is found or not.
"""

import argparse
import itertools
import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from scaleqa.datasets import open_threads
from scaleqa.packages import Package
from tsim.embed import open_embedder
from tsim.toolkit import Arrival, DriftRule, Vectors, cuts, tokens

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.62, 0.66, 0.70, 0.74, 0.78, 0.82, 0.86, 0.9)
WINDOWS = (128, 256, 320)


def main() -> None:
    """Prints a line for each threshold and each length of windows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("threads", help="packages, or a data set such as scaleqa:target=128k")
    parser.add_argument("--model", help="embedding model")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    embedder = open_embedder(given.model, cached=True)
    threads = [
        (package, embedder.embed([turn.text for turn in package.stream]))
        for package in open_threads(given.threads)
    ]
    found = [
        *(_line(f"theta {theta:.2f}", threads, theta=theta) for theta in THRESHOLDS),
        *(_line(f"window {size}", threads, size=size) for size in WINDOWS),
    ]
    if given.json:
        print(json.dumps({"embedder": embedder.identity, "lines": found}, indent=2))
        return
    print(embedder.identity)
    for line in found:
        below = f"below {line['below']:.3f}  " if "below" in line else ""
        print(f"{line['rule']:12} {below}tokens {line['tokens']:6.1f}  whole {line['whole']:.3f}")


def _line(
    rule: str,
    threads: Sequence[tuple[Package, Vectors]],
    *,
    theta: float | None = None,
    size: int = 0,
) -> dict[str, Any]:
    lengths: list[float] = []
    whole: list[bool] = []
    below: list[bool] = []
    for package, vectors in threads:
        words = [len(turn.text.split()) for turn in package.stream]
        if theta is None:
            cut = [*_windows(words, size)]
        else:
            arrivals = [
                Arrival(role=turn.role, words=count, vector=vector)
                for turn, count, vector in zip(package.stream, words, vectors, strict=True)
            ]
            cut = [*cuts(DriftRule(min_similarity=theta), arrivals)]
            below += _below(vectors, theta)
        episode = dict(zip((t.id for t in package.stream), np.cumsum(cut), strict=True))
        starts = [*np.flatnonzero(cut), len(words)]
        lengths += [
            tokens.from_words(sum(words[start:end])) for start, end in itertools.pairwise(starts)
        ]
        for question in package.questions:
            if len(question.evidence) > 1:
                whole.append(len({episode[turn] for turn in question.evidence}) == 1)
    line = {"rule": rule, "tokens": statistics.mean(lengths), "whole": statistics.mean(whole)}
    return line if theta is None else {**line, "below": statistics.mean(below)}


def _below(vectors: Vectors, theta: float) -> Iterator[bool]:
    """Whether each turn is less similar to the four before it, wherever an episode began."""
    for at in range(1, len(vectors)):
        centre = vectors[max(0, at - 4) : at].mean(axis=0)
        yield bool(vectors[at] @ centre < theta * np.linalg.norm(centre))


def _windows(words: Iterable[int], size: int) -> Iterator[bool]:
    held: int | None = None
    for count in words:
        full = held is None or tokens.from_words(held) >= size
        held = count if full else (held or 0) + count
        yield full


if __name__ == "__main__":
    main()
