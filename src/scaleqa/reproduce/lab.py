"""Where tables get their figures: packages are built, systems are run, results are kept.

Everything lies under one directory and is reused: `packages/`, `results/` (retrieval, a file a
system and package) and `rows/` (the closed loop, a line a question). A run that was stopped goes on
with what is missing; what is there and belongs to something else is refused.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from scaleqa import __version__
from scaleqa.backends import Backend, ChatModel
from scaleqa.errors import DataError
from scaleqa.evaluate import Diagnosis
from scaleqa.evaluate.loop import LoopSettings, run_packages
from scaleqa.evaluate.retrieve import Part, QueryResult, diagnose_package, summarise
from scaleqa.evaluate.rows import Row
from scaleqa.lengths import length
from scaleqa.noise import Dialogue
from scaleqa.packages import BuildSettings, Package, build, load_packages, subset, write_packages
from scaleqa.prompts import template
from scaleqa.records import Record, Sequel
from tsim.embed import Embedder, open_embedder

SEED = 11
ANSWER = "answer.v1"
Report = Callable[[int, int], None]
Mix = Literal["blocks", "braid"]
Progress = Callable[[str], AbstractContextManager[Report]]


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
        return sum(len(package.queries) for package in self.packages)


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
        told = ("" if mix == "blocks" else mix, "sequels" if sequels else "")
        name = "-".join(str(part) for part in (length(target), *told, wanted or "") if part)
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
        self, system: str, threads: Threads, *, model: str | None = None, cached: bool = True
    ) -> Diagnosis:
        """Measures a system's retrieval, as far as that was not done before.

        Args:
            system: Name and options.
            threads: What it reads.
            model: Another embedding model than the lab's.
            cached: Whether vectors known from before may be used; times are honest without.
        """
        embedder = self.embedder(model, cached=cached)
        folder = self.sources.out / "results" / threads.name / slug(embedder.identity)
        folder = folder / ("known-vectors" if cached else "fresh-vectors") / slug(system)
        paths = [folder / f"{package.name}.json" for package in threads.packages]
        identities = [self._identity(system, package, embedder) for package in threads.packages]
        parts = [_read(path, one) for path, one in zip(paths, identities, strict=True)]
        missing = [number for number, part in enumerate(parts) if part is None]
        with self._bar(system, threads) as report:
            for done, number in enumerate(missing):
                package = threads.packages[number]
                part = diagnose_package(
                    package,
                    system,
                    embedder,
                    model=self.sources.helper,
                    progress=_among(report, done, len(missing)),
                )
                _write(paths[number], identities[number], part)
                parts[number] = part
            if not missing:
                report(len(parts), len(parts))
        return summarise(system, [part for part in parts if part is not None])

    def loop(
        self, system: str, threads: Threads, *, prompt: str = ANSWER, writeback: bool = True
    ) -> list[Row]:
        """Runs a system in the closed loop, as far as that was not done before."""
        embedder, backend = self.embedder(), self.sources.backend
        way = f"{prompt}{'' if writeback else '-no-writeback'}"
        out = self.sources.out / "rows" / threads.name / slug(embedder.identity)
        settings = LoopSettings(
            system=system,
            template=template(prompt),
            writeback=writeback,
            model=self.sources.helper,
        )
        with self._bar(system, threads) as report:
            rows = run_packages(
                threads.packages,
                settings,
                backend,
                embedder,
                out / slug(backend.identity) / way,
                progress=report,
            )
            report(len(rows), len(rows))
        return rows

    def _bar(self, system: str, threads: Threads) -> AbstractContextManager[Report]:
        self._step += 1
        return self.sources.progress(f"{self._step}/{self._steps} {system}, {threads.name}")

    def _identity(self, system: str, package: Package, embedder: Embedder) -> dict[str, Any]:
        return {
            "version": __version__,
            "system": system,
            "package": _digest(package),
            "embedder": embedder.identity,
            "model": self.sources.helper.identity if self.sources.helper else None,
        }


def slug(name: str) -> str:
    """Makes a name fit for a directory."""
    return re.sub(r"[^\w.=-]+", "_", name)


def _among(report: Report, before: int, parts: int) -> Report:
    """Shows a part's progress as that of all parts, which are about equally long."""
    return lambda done, total: report(before * total + done, parts * total)


def _keep(made: Sequence[Package], directory: Path) -> None:
    """Writes packages all or none, or checks that those that are there are the same."""
    if not directory.exists():
        part = directory.with_name(f"{directory.name}.part")
        if part.exists():
            shutil.rmtree(part)
        write_packages(made, part)
        part.rename(directory)
    elif load_packages(directory) != list(made):
        raise DataError(
            f"{directory} holds packages of other records, noise or settings; choose another --out"
        )


def _digest(package: Package) -> str:
    content = [[turn.role, turn.text] for turn in package.stream]
    asked = [[query.id, query.question, query.evidence] for query in package.queries]
    return hashlib.sha256(json.dumps([content, asked]).encode()).hexdigest()


def _write(path: Path, identity: Mapping[str, Any], part: Part) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps({"run": identity, "part": asdict(part)}), encoding="utf-8")
    unfinished.replace(path)


def _read(path: Path, identity: Mapping[str, Any]) -> Part | None:
    if not path.exists():
        return None
    try:
        kept = json.loads(path.read_text("utf-8"))
        run, part = kept["run"], kept["part"]
        results = [QueryResult(**result) for result in part.pop("results")]
        found = Part(results=results, **part)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is damaged; remove it") from error
    if run != identity:
        raise DataError(
            f"{path} holds results of another run (version, package, embedder or chat model "
            "differ); choose another --out"
        )
    return found
