"""`scaleqa quickstart`: from a fresh install to a first result."""

import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scaleqa import sample
from tsim import Memory
from tsim.cli.shell import AsJson, print_json, progress_bar

EPISODES = 2


def quickstart(as_json: AsJson = False) -> None:
    """Remember a small mixed thread and ask it a question, with the embedded defaults.

    Example: scaleqa quickstart
    """
    with (
        tempfile.TemporaryDirectory() as directory,
        Memory.open(Path(directory) / "memory.db") as memory,
        progress_bar("remembering") as report,
    ):
        thread = memory.thread("sample")
        thread.add_many(sample.thread(), progress=report)
        hits = thread.search(sample.QUESTION, k=EPISODES)
    lines = [[f"{turn.id} {turn.role}: {turn.text}" for turn in hit.turns] for hit in hits]
    if as_json:
        rows = [
            {"episode": hit.episode, "score": round(hit.score, 3), "turns": turns}
            for hit, turns in zip(hits, lines, strict=True)
        ]
        print_json({"question": sample.QUESTION, "hits": rows})
        return
    table = Table("episode", "score", "turns", title=sample.QUESTION, show_lines=True)
    for hit, turns in zip(hits, lines, strict=True):
        table.add_row(str(hit.episode), f"{hit.score:.2f}", Text("\n".join(turns)))
    Console().print(table)
    print("The rule that decides is in the thread, turns before the project's name.")
    print("Next: tsim --help, make test, docs/method.md")
