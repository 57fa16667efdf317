"""What dates add to what is found: LongMemEval's questions about time and about changes.

    python bench/dates.py longmemeval_oracle.json.gz --half odd
    python bench/dates.py longmemeval_oracle.json.gz --half odd --json

Each question is asked twice: in its thread without times, and in the same thread with the times of
its sessions and of the question. Constants were chosen on the even half. A question is found if all
its evidence is in the context; "newest first" is the share of questions with several evidence turns
whose newest one is in a hit that ranks no lower than that of the oldest.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scaleqa.datasets.longmemeval import (
    PublishedQuestion,
    choose,
    compile_threads,
    load_release,
)
from scaleqa.lengths import parse_target
from scaleqa.packages import Package
from tsim import Memory, NewTurn
from tsim.embed import Embedder, open_embedder
from tsim.rank.when import stretches

TYPES = ("temporal-reasoning", "knowledge-update")
BUDGETS = (500, 1100)


def halved(questions: Sequence[PublishedQuestion], half: str, most: int) -> list[PublishedQuestion]:
    """Returns every second question of each type, in the order of the file."""
    out: list[PublishedQuestion] = []
    for kind in TYPES:
        some = [question for question in questions if question.question_type == kind]
        out += some[half == "odd" :: 2][:most]
    return out


def measure(package: Package, embedder: Embedder) -> dict[str, Any]:
    """Asks the question of a thread; returns whether its evidence is found."""
    (question,) = package.questions
    row: dict[str, Any] = {}
    turns = [NewTurn(role=turn.role, text=turn.text, at=turn.at) for turn in package.stream]
    with (
        tempfile.TemporaryDirectory() as directory,
        Memory.open(Path(directory) / "m.db", model=embedder, tokens="words") as memory,
    ):
        thread = memory.thread("a")
        thread.add_many(turns)
        for budget in BUDGETS:
            hits = thread.search(question.question, budget=budget, now=question.at)
            ranks = {turn.id: n for n, hit in enumerate(hits) for turn in hit.turns}
            row[f"{budget}"] = {*question.evidence} <= ranks.keys()
    if len(question.evidence) > 1:
        first, last = (ranks.get(edge(question.evidence), len(ranks)) for edge in (min, max))
        row["newest"] = last <= first
    return row


def about(package: Package) -> dict[str, Any]:
    """Returns what is known about a question: its type, and the kinds of time it is about."""
    (question,) = package.questions
    at = question.at or 0.0
    now = datetime.fromtimestamp(at, UTC)
    found = stretches(question.question, now=now, first=0.0, last=at)
    kinds = [one.kind.value for one in found]
    return {"id": question.id, "type": question.domain, "kinds": kinds}


def shown(name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Returns the cells of a line of the table."""
    keys = [*(f"{budget} {dates}" for budget in BUDGETS for dates in (False, True))]
    keys += ["newest False", "newest True"]
    values = [[bool(row[key]) for row in rows if key in row] for key in keys]
    shares = [f"{sum(some) / len(some):.3f}" if some else "–" for some in values]
    return [name, str(len(rows)), *shares]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("file", type=Path)
    parser.add_argument("--half", choices=["even", "odd"], default="odd")
    parser.add_argument("--most", type=int, default=1000, help="questions of each type")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    release = load_release(given.file)
    questions = halved(choose(release.questions, None, 0).questions, given.half, given.most)
    embedder, target = open_embedder(cached=True), parse_target("115k")
    plain = compile_threads(release, questions, target=target, seed=0)
    dated = compile_threads(release, questions, target=target, seed=0, dates=True)
    rows: list[dict[str, Any]] = []
    for without, with_dates in zip(plain, dated, strict=True):
        rows.append(about(with_dates))
        for key, package in (("False", without), ("True", with_dates)):
            found = measure(package, embedder)
            rows[-1].update({f"{name} {key}": value for name, value in found.items()})
    if given.json:
        print(json.dumps(rows, indent=1))
        return
    groups = {
        "all": rows,
        **{kind: [row for row in rows if row["type"] == kind] for kind in TYPES},
        "with an expression of time": [row for row in rows if row["kinds"]],
        "of a period": [row for row in rows if "inside" in row["kinds"]],
    }
    headings = [f"{b} tokens{', dates' if dates else ''}" for b in BUDGETS for dates in (0, 1)]
    print("| questions | number |", " | ".join([*headings, "newest first", "with dates"]), "|")
    print("|---|" + "---:|" * 7)
    for name, some in groups.items():
        if some:
            print("|", " | ".join(shown(name, some)), "|")


if __name__ == "__main__":
    main()
