"""What is found of facts told in passing, language by language and across languages.

    python bench/languages.py
    python bench/languages.py --model multilingual-e5-small-q4 --mixed --json

Each system gets the same number of tokens, by the estimate that the engine uses (`tsim.tokens`).
Headings count for the engine; the other systems have none.
"""

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from scaleqa.datasets import open_threads
from scaleqa.packages import Package, Question
from tsim import Memory, NewTurn
from tsim.embed import Embedder, open_embedder
from tsim.toolkit import DenseIndex, Postings, Vector, best, tokens

BUDGETS = (150, 500)
# How a question finds turns: the ids that fit into a budget.
Finder = Callable[[Question, int], Iterable[int]]


def finders(package: Package, embedder: Embedder, memory: Memory) -> dict[str, Finder]:
    """Returns the systems, with the turns of a thread."""
    thread = memory.thread(package.name)
    thread.add_many(NewTurn(role=turn.role, text=turn.text) for turn in package.stream)
    first = next(iter(thread.turns())).id
    rows, postings = DenseIndex(embedder.dimension), Postings()
    rows.extend(embedder.embed([turn.text for turn in package.stream]))
    for turn in package.stream:
        postings.append(turn.text)
    lengths = [tokens.estimate(f"{turn.role}: {turn.text}\n") for turn in package.stream]

    def packed(scores: Vector, budget: int) -> Iterable[int]:
        left = budget
        for place in best(scores, len(scores)):
            if scores[place] > 0 and lengths[place] <= left:
                left -= lengths[place]
                yield place

    def found(question: Question, budget: int) -> Iterable[int]:
        for hit in thread.search(question.question, budget=budget):
            yield from (turn.id - first for turn in hit.turns)

    return {
        "tsim": found,
        "nearest turns": lambda question, budget: packed(
            rows.scores(embedder.embed_query(question.question)), budget
        ),
        "BM25": lambda question, budget: packed(postings.scores(question.question), budget),
    }


def measure(spec: str, embedder: Embedder) -> dict[str, dict[str, float]]:
    """Returns the share of questions whose evidence is found, by group and system."""
    hits: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for package in open_threads(spec):
        with (
            tempfile.TemporaryDirectory() as scratch,
            Memory.open(Path(scratch) / "memory.db", model=embedder) as memory,
        ):
            for name, find in finders(package, embedder, memory).items():
                for question in package.questions:
                    for budget in BUDGETS:
                        inside = {*question.evidence} <= {*find(question, budget)}
                        for group in (str(question.domain), "all"):
                            hits[group][f"{name} {budget}"].append(inside)
    return {
        group: {name: round(sum(some) / len(some), 3) for name, some in cells.items()}
        for group, cells in hits.items()
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--model", help="An embedding model; the default one if left out.")
    arguments.add_argument("--asked", choices=("same", "other"), default="same")
    arguments.add_argument("--mixed", action="store_true", help="One thread of all languages.")
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    embedder = open_embedder(given.model, cached=True)
    spec = f"languages:asked={given.asked},mixed={str(given.mixed).lower()}"
    rows = measure(spec, embedder)
    if given.json:
        print(json.dumps(rows, indent=1))
        return
    columns = [*rows["all"]]
    print(f"{spec}, {embedder.identity}")
    print(" | ".join(["", *columns]))
    for group, cells in rows.items():
        print(" | ".join([group, *(f"{cells[name]:.2f}" for name in columns)]))


if __name__ == "__main__":
    main()
