"""Where tables get their figures: packages are built, systems are run, results are kept.

Everything is under one directory and is reused: `packages/`, `results/` (rows of retrieval) and
`rows/` (rows of the closed loop). A run that was stopped continues with what is missing; rows of
another run are refused.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scaleqa.backends import Backend, ChatModel
from scaleqa.errors import DataError
from scaleqa.evaluate import Reading, Row, RunSettings, run_packages
from scaleqa.lengths import length
from scaleqa.noise import Dialogue
from scaleqa.packages import BuildSettings, Package, build, load_packages, subset, write_packages
from scaleqa.prompts import template
from scaleqa.records import Record, Sequel
from tsim.embed import Embedder, open_embedder

SEED = 11
ANSWER = "answer.v1"
Advance = Callable[[int, int], None]
Mix = Literal["blocks", "braid"]
Progress = Callable[[str], AbstractContextManager[Advance]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """Packages of one length.

    Attributes:
        name: Directory under `packages/`, `results/` and `rows/`.
        target: The length.
        packages: The packages.
    """

    name: str
    target: int
    packages: tuple[Package, ...]

    @property
    def questions(self) -> int:
        """How many questions there are."""
        return sum(len(package.questions) for package in self.packages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What tables are made from.

    Attributes:
        out: Directory for everything.
        records: All records.
        noise: All noise.
        progress: Opens a bar of that name.
        backend: Answers in the closed loop.
        helper: A chat model for systems that use one.
        model: The embedding model; None for the default.
        subset: Questions to take; None for all.
        sequels: All sequels.
    """

    out: Path
    records: Sequence[Record]
    noise: Sequence[Dialogue]
    progress: Progress
    backend: Backend
    helper: ChatModel | None = None
    model: str | None = None
    subset: int | None = None
    sequels: Sequence[Sequel] = ()


class Lab:
    """Builds, runs and keeps."""

    def __init__(self, sources: Sources) -> None:
        """Starts; nothing is built before it is asked for."""
        self.sources = sources
        self._threads: dict[str, Threads] = {}
        self._embedders: dict[tuple[str | None, bool], Embedder] = {}
        self._step, self._steps = 0, 0
        self.dates: set[str] = set()  # of the rows that were made or reused

    def expect(self, steps: int) -> None:
        """Says how many runs are to come, for the bars."""
        self._step, self._steps = 0, steps

    def embedder(self, model: str | None = None, *, cached: bool = True) -> Embedder:
        """Opens an embedder, or the one that is open."""
        key = (model or self.sources.model, cached)
        if key not in self._embedders:
            self._embedders[key] = open_embedder(key[0], cached=cached)
        return self._embedders[key]

    def threads(
        self,
        target: int,
        count: int | None = None,
        *,
        mix: Mix = "blocks",
        sequels: bool = False,
    ) -> Threads:
        """Builds the packages of a length, or takes those that are there.

        Args:
            target: The length.
            count: Most questions to take; they are chosen evenly.
            mix: How dialogues are mixed.
            sequels: Whether sequels follow their records, which are then chosen before others.

        Raises:
            DataError: There is too little noise, or other packages are in the way.
        """
        wanted = min(filter(None, (self.sources.subset, count)), default=None)
        chosen = self._chosen(wanted, sequels=sequels) if wanted else self.sources.records
        parts = ("" if mix == "blocks" else mix, "sequels" if sequels else "")
        name = "-".join(str(part) for part in (length(target), *parts, wanted or "") if part)
        return self.build(name, target, chosen, mix=mix, sequels=sequels)

    def build(
        self,
        name: str,
        target: int,
        records: Sequence[Record],
        *,
        mix: Mix = "blocks",
        sequels: bool = False,
    ) -> Threads:
        """Builds packages from given records, or takes those that are there."""
        if name not in self._threads:
            settings = BuildSettings(target=target, mix=mix, sequels=sequels)
            made = build(records, self.sources.noise, settings, self.sources.sequels)
            _keep(made, self.sources.out / "packages" / name)
            self._threads[name] = Threads(name=name, target=target, packages=tuple(made))
        return self._threads[name]

    def _chosen(self, wanted: int, *, sequels: bool) -> list[Record]:
        records = self.sources.records
        if not sequels:
            return subset(records, wanted, SEED)
        ids = {sequel.id for sequel in self.sources.sequels}
        first = [record for record in records if record.id in ids]
        others = [record for record in records if record.id not in ids]
        more = wanted - len(first)
        if more <= 0:
            return subset(first, wanted, SEED)
        return [*first, *subset(others, more, SEED)]

    def retrieve(
        self, system: str, threads: Threads, *, model: str | None = None, cold: bool = False
    ) -> list[Row]:
        """Measures a system's retrieval, as far as that was not done before.

        Args:
            system: Name and options.
            threads: What it reads.
            model: Another embedding model than the lab's.
            cold: Whether every text is embedded again, so that times include the embedding.
        """
        embedder = self.embedder(model, cached=not cold)
        out = self.sources.out / "results" / threads.name / slug(embedder.identity)
        settings = RunSettings(system=system, model=self.sources.helper, detail=False, cold=cold)
        return self._run(settings, threads, embedder, out / ("cold" if cold else "warm"))

    def loop(
        self, system: str, threads: Threads, *, prompt: str = ANSWER, writeback: bool = True
    ) -> list[Row]:
        """Runs a system in the closed loop, as far as that was not done before."""
        embedder, backend = self.embedder(), self.sources.backend
        way = f"{prompt}{'' if writeback else '-no-writeback'}"
        out = self.sources.out / "rows" / threads.name / slug(embedder.identity)
        reading = Reading(backend=backend, template=template(prompt), writeback=writeback)
        settings = RunSettings(system=system, reading=reading, model=self.sources.helper)
        return self._run(settings, threads, embedder, out / slug(backend.identity) / way)

    def _run(
        self, settings: RunSettings, threads: Threads, embedder: Embedder, out: Path
    ) -> list[Row]:
        with self._bar(settings.system, threads) as advance:
            rows = run_packages(threads.packages, settings, embedder, out, progress=advance)
        self.dates |= {row.timing.date for row in rows if row.timing.date}
        return rows

    def _bar(self, system: str, threads: Threads) -> AbstractContextManager[Advance]:
        self._step += 1
        return self.sources.progress(f"{self._step}/{self._steps} {system}, {threads.name}")


def slug(name: str) -> str:
    """Makes a name fit for a directory."""
    return re.sub(r"[^\w.=-]+", "_", name)


def _keep(made: Sequence[Package], directory: Path) -> None:
    """Writes packages, or checks that those that are there are the same."""
    if not directory.exists():
        write_packages(made, directory)
    elif load_packages(directory) != list(made):
        raise DataError(
            f"{directory} holds packages of other records, noise or settings; choose another --out"
        )
