"""What it costs to embed more than turns, and what it finds: runs of turns, and sentences.

    python bench/runs.py
    python bench/runs.py --target 32k --json

Each line is the default method with some of them left out. Tokens are those of all embedded texts
over those of the turns; ingest is CPU time without the embedder, which the tokens stand for.
Vectors are those that a search holds in RAM; bytes are those on disk.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from scaleqa.datasets import open_threads
from scaleqa.packages import Package
from tsim import LATE, LIGHT, Memory, NewTurn
from tsim.embed import open_embedder
from tsim.engine.late.engine import LateEngine
from tsim.presets import Preset, late_for
from tsim.toolkit import Vector, Vectors

# Whether runs are embedded, and whether sentences are. With neither it is the preset `light`, which
# has weights of its own.
LEVELS: dict[str, tuple[bool, bool]] = {
    "turns": (False, False),
    "turns, sentences": (False, True),
    "turns, runs": (True, False),
    "turns, runs, sentences (late)": (True, True),
}
BUDGETS = (500, 1100)


class Counting:
    """An embedder that counts the words it is given, and the time it takes."""

    def __init__(self) -> None:
        """Opens the default model with its cache."""
        self._inner = open_embedder(cached=True)
        self.identity, self.dimension = self._inner.identity, self._inner.dimension
        self.words, self.seconds = 0, 0.0

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages."""
        self.words += sum(len(text.split()) for text in texts)
        begun = time.process_time()
        try:
            return self._inner.embed(texts)
        finally:
            self.seconds += time.process_time() - begun

    def embed_query(self, text: str) -> Vector:
        """Embeds a query."""
        return self._inner.embed_query(text)


def measure(name: str, tracks: dict[str, list[Package]]) -> dict[str, object]:
    """Measures one setting on all tracks."""
    embedder = Counting()
    embedded, sentences = LEVELS[name]
    more = embedded or sentences
    preset = late_for(embedder.identity, LATE.name if more else LIGHT.name)
    if more:
        settings = preset.settings
        runs = replace(settings.runs, embedded=embedded)
        weight = settings.span.sentence_weight if sentences else 0.0
        span = replace(settings.span, sentence_weight=weight)
        preset = Preset(name="bench", settings=replace(settings, runs=runs, span=span))
    said = turns = size = vectors = 0
    cpu = 0.0
    found: dict[str, list[bool]] = {}
    for track, packages in tracks.items():
        for package in packages:
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory) / "memory.db"
                with Memory.open(path, model=embedder, preset=preset) as memory:
                    thread = memory.thread("thread")
                    begun, before = time.process_time(), embedder.seconds
                    thread.add_many(NewTurn(role=t.role, text=t.text) for t in package.stream)
                    cpu += time.process_time() - begun - (embedder.seconds - before)
                    said += sum(len(turn.text.split()) for turn in package.stream)
                    turns += len(package.stream)
                    for question in package.questions:
                        for budget in BUDGETS:
                            hits = thread.search(question.question, budget=budget)
                            shown = {turn.id for hit in hits for turn in hit.turns}
                            found.setdefault(f"{track} {budget}", []).append(
                                {*question.evidence} <= shown
                            )
                    engine = thread._engine
                    assert isinstance(engine, LateEngine)
                    index = engine.index
                    vectors += len(index.vectors) + len(index.runs.vectors) + len(index.sentences)
                size += path.stat().st_size
    return {
        "embedded": name,
        "tokens": round(embedder.words / said, 2),
        "ingest ms/turn": round(1000 * cpu / turns, 3),
        "bytes/turn": size // turns,
        "vectors/turn": round(vectors / turns, 2),
        **{name: round(sum(hits) / len(hits), 3) for name, hits in found.items()},
    }


def main() -> None:
    """Prints one line per setting."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="128k")
    parser.add_argument("--split", default="s2")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    base = f"scaleqa:split={given.split},target={given.target}"
    tracks = {
        "other words": open_threads(f"{base},wording=other"),
        "asides": open_threads(f"{base},asides=true"),
    }
    rows = []
    for name in LEVELS:
        rows.append(measure(name, tracks))
        if not given.json:
            if len(rows) == 1:
                print(" | ".join(rows[0]))
            print(" | ".join(str(value) for value in rows[-1].values()), flush=True)
    if given.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
