"""What embedding runs of turns costs, and what it finds: from turns alone to five thresholds.

    python bench/runs.py
    python bench/runs.py --target 32k --json

Each line is the default method with other runs. Tokens are those of all embedded texts over those
of the turns; ingest is CPU time without the embedder, which the tokens stand for. Vectors are those
that a search holds in RAM; bytes are those on disk.
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

# Thresholds at which threads are divided into runs; None: the preset `light`, with the means of
# turns' vectors, and weights of its own.
LEVELS: tuple[tuple[float, ...] | None, ...] = (
    None,
    (0.3,),
    (0.1, 0.6),
    (0.1, 0.3, 0.6),
    (0.05, 0.1, 0.3, 0.6, 0.8),
)
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


def measure(level: tuple[float, ...] | None, tracks: dict[str, list[Package]]) -> dict[str, object]:
    """Measures one setting on all tracks."""
    embedder = Counting()
    preset = late_for(embedder.identity, LIGHT.name if level is None else LATE.name)
    if level:
        runs = replace(preset.settings.runs, thresholds=level)
        preset = Preset(name="bench", settings=replace(preset.settings, runs=runs))
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
                    vectors += len(engine.index.vectors) + len(engine.index.run_vectors)
                size += path.stat().st_size
    return {
        "runs": "means" if level is None else " ".join(str(one) for one in level),
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
    for level in LEVELS:
        rows.append(measure(level, tracks))
        if not given.json:
            if len(rows) == 1:
                print(" | ".join(rows[0]))
            print(" | ".join(str(value) for value in rows[-1].values()), flush=True)
    if given.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
