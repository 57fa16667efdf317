"""Where tables get their figures: packages are built, systems are run, results are kept.

Everything is under one directory and is reused: `packages/`, `results/` (rows of retrieval) and
`rows/` (rows of the closed loop). A run that was stopped continues with what is missing; rows of
another run are refused.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from scaleqa.backends import Backend, ChatModel
from scaleqa.datasets import open_threads
from scaleqa.errors import DataError
from scaleqa.evaluate import Reading, Row, RunSettings, retrieve_together, run_packages
from scaleqa.evaluate.verdicts import with_verdicts
from scaleqa.lengths import length
from scaleqa.noise import Dialogue
from scaleqa.packages import (
    AS_WRITTEN,
    BuildSettings,
    Filler,
    Mix,
    Package,
    TalkSettings,
    Words,
    build,
    build_talk,
    load_packages,
    subset,
    subset_of_lives,
    track_of,
    write_packages,
)
from scaleqa.prompts import template
from scaleqa.records import Aside, Case, Life, Record, Sequel, TalkKind, Wording
from scaleqa.shards import Asked, Executor, Order, Recipe
from tsim.embed import Embedder, open_embedder

SEED = 11
ANSWER = "answer.v1"
Advance = Callable[[int, int], None]
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

    @property
    def track(self) -> str | None:
        """The track of the questions; None for other data sets."""
        return track_of(self.packages[0].settings)

    @property
    def printed(self) -> int | None:
        """The length, if the paper may have figures: it knows questions as written only."""
        return self.target if self.track in (None, AS_WRITTEN) else None


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
        wordings: All second wordings.
        asides: All asides.
        talk: All lives, of both kinds.
        datasets: Data sets of others, as name and options.
        reserve: Dialogues that fill threads of asides and talk where there is too little noise.
        recipe: How other processes open the backend and the helper.
        executor: Makes rows ahead in parallel; None to make them one after the other.
        rows: Answered rows to lay out instead of running anything; None to run.
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
    wordings: Sequence[Wording] = ()
    asides: Sequence[Aside] = ()
    talk: Sequence[Life] = ()
    datasets: Sequence[str] = ()
    reserve: Sequence[Dialogue] = ()
    recipe: Recipe = field(default_factory=Recipe)
    executor: Executor | None = None
    rows: Path | None = None

    def of(self, split: str) -> "Sources":
        """Returns the same of one split alone, so that nothing of another is in any thread.

        Raises:
            DataError: No record is of that split.
        """
        records = [record for record in self.records if record.split == split]
        if not records:
            there = ", ".join(sorted({record.split for record in self.records}))
            raise DataError(f"no record is of split {split!r}; there are records of {there}")
        own = f"{split}:"
        return replace(
            self,
            records=records,
            sequels=[one for one in self.sequels if one.id.startswith(own)],
            wordings=[one for one in self.wordings if one.id.startswith(own)],
            asides=[one for one in self.asides if one.split == split],
            talk=[one for one in self.talk if one.split == split],
            reserve=[one for one in self.reserve if one.id.startswith(own)],
        )


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

    def threads(  # noqa: PLR0913  # one argument for each way to build
        self,
        target: int,
        count: int | None = None,
        *,
        mix: Mix = "blocks",
        sequels: bool = False,
        wording: Words = "own",
        asides: bool = False,
        absent: bool = False,
        worded: bool = False,
    ) -> Threads:
        """Builds the packages of a length, or takes those that are there.

        Args:
            target: The length.
            count: Most questions to take; they are chosen evenly.
            mix: How dialogues are mixed.
            sequels: Whether sequels follow their records, which are then chosen before others.
            wording: The questions in their own words, or in other words where there are any.
            asides: Whether to ask about asides instead of records.
            absent: Whether to leave out every second dialogue, and still ask its question.
            worded: Whether records with a second wording are chosen before others.

        Raises:
            DataError: There is too little noise, or other packages are in the way.
        """
        wanted = min(filter(None, (self.sources.subset, count)), default=None)
        chosen = self._chosen(wanted, sequels=sequels, asides=asides, worded=worded)
        parts = {
            mix: mix != "blocks",
            "sequels": sequels,
            wording: wording != "own",
            "asides": asides,
            "absent": absent,
            "worded": worded and wanted,
            str(wanted): wanted,
        }
        name = "-".join((length(target), *(part for part, used in parts.items() if used)))
        settings = BuildSettings(
            target=target, mix=mix, sequels=sequels, wording=wording, absent=absent
        )
        return self.build(name, chosen, settings)

    def build(self, name: str, cases: Sequence[Case], settings: BuildSettings) -> Threads:
        """Builds packages from given records or asides, or takes those that are there."""
        if name not in self._threads:
            given = self.sources
            filler = Filler(
                noise=given.noise,
                reserve=given.reserve if isinstance(cases[0], Aside) else (),
            )
            made = build(cases, filler, settings, given.sequels, given.wordings)
            self._threads[name] = self._kept(name, settings.target, made)
        return self._threads[name]

    def talk(self, kind: TalkKind, target: int) -> Threads:
        """Builds the threads of lives of a kind, or takes those that are there.

        Of a subset, whole lives are taken until they have that many questions.

        Args:
            kind: The kind of lives; there must be some.
            target: The length; 0 for lives alone.

        Raises:
            DataError: A life does not fit, there is too little noise, or other packages are in the
                way.
        """
        given = self.sources
        wanted = given.subset
        name = "-".join((length(target), "talk", kind, *([str(wanted)] if wanted else [])))
        if name not in self._threads:
            lives = [life for life in given.talk if life.kind == kind]
            chosen = subset_of_lives(lives, wanted) if wanted else lives
            filler = Filler(noise=given.noise, reserve=given.reserve)
            made = build_talk(chosen, filler, TalkSettings(target=target))
            self._threads[name] = self._kept(name, target, made)
        return self._threads[name]

    def dataset(self, spec: str) -> Threads:
        """Builds the threads of a data set of others, or takes those that are there.

        Raises:
            DataError: The data set cannot be used, or other packages are in the way.
        """
        if spec not in self._threads:
            made = sorted(open_threads(spec), key=lambda package: package.name)
            content = "".join(package.sha256 for package in made)
            name = f"{made[0].settings['dataset']}-{sha256(content.encode()).hexdigest()[:8]}"
            self._threads[spec] = self._kept(name, made[0].settings.get("target") or 0, made)
        return self._threads[spec]

    def _kept(self, name: str, target: int, made: Sequence[Package]) -> Threads:
        """Writes packages, or checks that those that are there are the same."""
        directory = self.sources.out / "packages" / name
        if not directory.exists():
            write_packages(made, directory)
        elif load_packages(directory) != list(made):
            raise DataError(
                f"{directory} holds packages of other records, noise or settings; choose another "
                "--out"
            )
        return Threads(name=name, target=target, packages=tuple(made))

    def _chosen(
        self, wanted: int | None, *, sequels: bool, asides: bool, worded: bool
    ) -> Sequence[Case]:
        cases: Sequence[Case] = self.sources.asides if asides else self.sources.records
        if not wanted or (asides and wanted >= len(cases)):
            return cases
        if not sequels and not worded:
            return subset(cases, wanted, SEED)
        ids = {one.id for one in (self.sources.sequels if sequels else self.sources.wordings)}
        first = [record for record in cases if record.id in ids]
        others = [record for record in cases if record.id not in ids]
        more = wanted - len(first)
        if more <= 0:
            return subset(first, wanted, SEED)
        return [*first, *subset(others, more, SEED)]

    def ahead(self, orders: Iterable[Order]) -> None:
        """Makes rows that will be asked for, all at once, if there is somebody who can."""
        if self.sources.executor:
            self.sources.executor.run([*orders], self.sources.progress)

    def retrieving(self, system: str, *several: Threads, model: str | None = None) -> Order:
        """Says what `retrieve` or, of several, `retrieve_together` will run."""
        given = self.sources.recipe.model_dump(include={"assist", "rpm", "key_env"})
        recipe = Recipe(model=model or self.sources.model, detail=False, **given)
        embedder = self.embedder(model)
        found: dict[str, list[Asked]] = {}
        for threads in several:
            for package in threads.packages:
                asked = Asked(package=package, out=self._results(threads, embedder))
                found.setdefault(package.name, []).append(asked)
        grouped = tuple(tuple(one) for one in found.values())
        return Order(recipe=recipe, systems=(system,), threads=grouped)

    def looping(
        self, system: str, threads: Threads, *, prompt: str = ANSWER, writeback: bool = True
    ) -> Order:
        """Says what `loop` will run."""
        more = {"model": self.sources.model, "prompt": prompt, "writeback": writeback}
        out = self._rows(threads, prompt, writeback=writeback)
        return Order(
            recipe=self.sources.recipe.model_copy(update=more),
            systems=(system,),
            threads=tuple((Asked(package=one, out=out),) for one in threads.packages),
        )

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
        settings = RunSettings(system=system, model=self.sources.helper, detail=False, cold=cold)
        out = self._results(threads, embedder, cold=cold)
        return self._run(settings, threads, embedder, out)

    def retrieve_together(self, system: str, several: Sequence[Threads]) -> list[list[Row]]:
        """Measures a system's retrieval for several sets of questions about the same threads.

        The system ingests each thread once; rows are kept as if each set had been run alone.

        Args:
            system: Name and options.
            several: Packages of the same name have the same thread.

        Returns:
            The rows of each set.
        """
        embedder = self.embedder()
        settings = RunSettings(system=system, model=self.sources.helper, detail=False)
        found: dict[str, list[Row]] = {one.name: [] for one in several}
        named = {package.name: None for one in several for package in one.packages}
        joint = replace(several[0], name=" and ".join(one.name for one in several))
        with self.bar(system, joint) as advance:
            for name in named:
                asked = [(one, p) for one in several for p in one.packages if p.name == name]
                outs = [self._results(one, embedder) for one, _ in asked]
                packages = [package for _, package in asked]
                rows = retrieve_together(packages, settings, embedder, outs, progress=advance)
                for (one, _), own in zip(asked, rows, strict=True):
                    found[one.name] += own
        self.dates |= {r.timing.date for rows in found.values() for r in rows if r.timing.date}
        return [found[one.name] for one in several]

    def _results(self, threads: Threads, embedder: Embedder, *, cold: bool = False) -> Path:
        out = self.sources.out / "results" / threads.name / slug(embedder.identity)
        return out / ("cold" if cold else "warm")

    def loop(
        self, system: str, threads: Threads, *, prompt: str = ANSWER, writeback: bool = True
    ) -> list[Row]:
        """Runs a system in the closed loop, as far as that was not done before."""
        embedder, backend = self.embedder(), self.sources.backend
        out = self._rows(threads, prompt, writeback=writeback)
        reading = Reading(backend=backend, template=template(prompt), writeback=writeback)
        settings = RunSettings(system=system, reading=reading, model=self.sources.helper)
        return with_verdicts(self._run(settings, threads, embedder, out), out)

    def _rows(self, threads: Threads, prompt: str, *, writeback: bool) -> Path:
        embedder, backend = slug(self.embedder().identity), slug(self.sources.backend.identity)
        way = f"{prompt}{'' if writeback else '-no-writeback'}"
        return self.sources.out / "rows" / threads.name / embedder / backend / way

    def _run(
        self, settings: RunSettings, threads: Threads, embedder: Embedder, out: Path
    ) -> list[Row]:
        with self.bar(settings.system, threads) as advance:
            rows = run_packages(threads.packages, settings, embedder, out, progress=advance)
        self.dates |= {row.timing.date for row in rows if row.timing.date}
        return rows

    def bar(self, system: str, threads: Threads) -> AbstractContextManager[Advance]:
        """Opens a bar for the next step."""
        self._step += 1
        return self.sources.progress(f"{self._step}/{self._steps} {system}, {threads.name}")


def slug(name: str) -> str:
    """Makes a name fit for a directory."""
    return re.sub(r"[^\w.=-]+", "_", name)
