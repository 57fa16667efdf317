"""`scaleqa quickstart`: from a fresh install to a first result."""

from rich.console import Console
from rich.table import Table

from scaleqa import sample
from tsim.cli.shell import AsJson, print_json
from tsim.embed import open_embedder

SHOWN = 5


def quickstart(as_json: AsJson = False) -> None:
    """Embed a small thread and search it, with the embedded defaults.

    Example: scaleqa quickstart
    """
    turns = sample.thread()
    embedder = open_embedder(cached=True)
    vectors = embedder.embed([turn["content"] for turn in turns])
    scores = vectors @ embedder.embed_query(sample.QUESTION)
    best = sorted(range(len(turns)), key=lambda turn: (-float(scores[turn]), turn))[:SHOWN]
    rows = [{"turn": i, "score": round(float(scores[i]), 3), **turns[i]} for i in best]
    if as_json:
        print_json({"question": sample.QUESTION, "hits": rows})
        return
    table = Table("turn", "score", "who", "text", title=sample.QUESTION)
    for row in rows:
        table.add_row(str(row["turn"]), str(row["score"]), str(row["role"]), str(row["content"]))
    Console().print(table)
    print("Next: tsim models list, make test, docs/architecture.md")
