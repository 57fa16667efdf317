"""From the rows of a run to a result; what `check` does again, to compare."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pydantic import ValidationError

from scaleqa.datasets import dataset_names, find_dataset, open_threads
from scaleqa.errors import DataError
from scaleqa.evaluate.batch import SEED, sample_ranks
from scaleqa.evaluate.rows import Detail, Row, Run
from scaleqa.figures.groups import setting_of
from scaleqa.leaderboard.figures import figures_of, further_judge, own_judge, sensitivity
from scaleqa.leaderboard.files import rows_sha256
from scaleqa.leaderboard.schema import (
    Asked,
    Data,
    Judge,
    PackageOf,
    Reader,
    Result,
    System,
    Verdict,
)
from scaleqa.options import read_options
from scaleqa.packages import Package
from scaleqa.specs import Spec

# Options of data sets that choose some of the questions, and the seeds of the choice.
CHOICE = "subset"
SEEDS = ("subset_seed", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What rows do not say.

    Attributes:
        data: The data set as `scaleqa retrieve` takes it, if it can be named.
        version: Version of the system.
        link: Where it is described.
        note: A sentence for readers.
    """

    data: str | None = None
    version: str | None = None
    link: str | None = None
    note: str = ""


def make_result(rows: Sequence[Row], claims: Claims, verdicts: Sequence[Verdict] = (),
                asked: Asked | None = None) -> Result:  # fmt: skip
    """Makes a result of the rows of one system in one setting.

    Args:
        rows: The rows, in order.
        claims: What they do not say.
        verdicts: What further judges found.
        asked: How many questions were asked of how many; by default all.

    Raises:
        DataError: The rows are not those of one result.
    """
    run = _one_run(rows)
    setting, spec = setting_of(rows[0]), Spec.parse(run.system)
    judges = [one for one in (own_judge(rows), *_further(rows, verdicts)) if one]
    try:
        return Result(
            system=System(
                spec=run.system,
                name=spec.name,
                options=dict(spec.options),
                version=claims.version or run.scaleqa,
                link=claims.link,
                model=run.model,
            ),
            scaleqa=run.scaleqa or "",
            data=Data(
                dataset=run.dataset or "",
                spec=claims.data,
                track=setting.track,
                splits=tuple(sorted({row.split for row in rows if row.split})),
                target=run.target,
                records_sha256=run.records_sha256,
                packages=tuple(_packages(rows)),
            ),
            embedder=run.embedder,
            reader=Reader(
                model=run.reader.backend, prompt=run.reader.prompt, writeback=run.reader.writeback
            )
            if run.reader
            else None,
            judges=tuple(judges),
            judge_sensitivity=sensitivity(judges),
            questions=asked or Asked(asked=len(rows), of=len(rows)),
            figures=figures_of(rows),
            date=max(row.timing.date or "" for row in rows),
            rows_sha256=rows_sha256(rows),
            note=claims.note,
        )
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        raise DataError(
            f"{where} of the result cannot be {problem['input']!r:.80}: {problem['msg']}"
        ) from None


def chosen_rows(rows: Sequence[Row], system: str | None) -> list[Row]:
    """Returns the rows of a system, in order.

    Raises:
        DataError: There are several systems and none is named, or the named one is not there.
    """
    names = sorted({row.run.system for row in rows})
    if system is None and len(names) > 1:
        raise DataError(f"the run has rows of {', '.join(names)}; choose one with --system")
    wanted = system or names[0]
    found = [row for row in rows if row.run.system == wanted]
    if not found:
        raise DataError(f"the run has no rows of {wanted!r:.80}; it has {', '.join(names)}")
    return sorted(found, key=lambda row: (row.run.package, row.place))


def slim(row: Row) -> Row:
    """Leaves out the texts that a package has, and contexts; which turns were shown is kept."""
    detail = row.detail
    return row.model_copy(
        update={
            "question": "",
            "options": dict.fromkeys(row.options, "") if row.options else None,
            "reasoning": None,
            "stress": (),
            "evidence_texts": (),
            "detail": Detail(context="", units=(), shown=detail.shown) if detail else None,
        }
    )


def apart(rows: Sequence[Row]) -> tuple[list[Row], list[Verdict]]:
    """Parts rows from what further judges say of them, which a result keeps in a file of its own.

    What the judge of the rows said a second time does not make it another one.
    """
    verdicts = [
        Verdict(judge=judge, package=row.run.package, id=row.id, correct=correct)
        for row in rows
        for judge, correct in (row.judged or {}).items()
        if not (row.run.reader and row.run.reader.judge == judge)
    ]
    verdicts.sort(key=lambda one: one.judge)
    return [row.model_copy(update={"judged": None}) for row in rows], verdicts


def rebuilt(data: str) -> list[Package]:
    """Builds the packages of a data set. Only registered ones: a result may name no program.

    Raises:
        DataError: It is not registered, or not on this machine.
    """
    name = Spec.parse(data).name
    if name not in dataset_names():
        raise DataError(f"{data!r:.80} is none of the data sets {', '.join(dataset_names())}")
    return open_threads(data)


def asked_of(
    data: str, packages: Sequence[Package], sample: int | None = None, seed: int = SEED
) -> Asked:
    """Counts the questions of a data set that are asked, and of how many they were chosen.

    Args:
        data: The data set.
        packages: Its packages.
        sample: How many of their questions are asked, a stratified sample; None for all.
        seed: Decides which.

    Raises:
        DataError: The data set cannot be built.
    """
    every = _chosen_of(data, packages)
    if sample is None:
        return every
    return every.model_copy(update={"asked": sample, "sample_seed": seed})


def sampled(packages: Sequence[Package], asked: Asked) -> frozenset[str] | None:
    """Draws the sample that a result says was asked; returns ids of questions, None for all.

    Raises:
        DataError: There are fewer questions.
    """
    if asked.sample_seed is None:
        return None
    return frozenset(sample_ranks(packages, asked.asked, asked.sample_seed))


def _chosen_of(data: str, packages: Sequence[Package]) -> Asked:
    asked = sum(len(package.questions) for package in packages)
    spec = Spec.parse(data)
    if CHOICE not in spec.options:
        return Asked(asked=asked, of=asked)
    declared = find_dataset(spec.name)
    options = read_options(declared.options, spec.options, of=spec.name)
    seeds = [getattr(options, name, None) for name in SEEDS]
    rest = {key: value for key, value in spec.options.items() if key not in (CHOICE, *SEEDS)}
    every = _count(str(Spec(name=spec.name, options=rest)))
    return Asked(asked=asked, of=every, seed=next((s for s in seeds if s is not None), None))


@lru_cache(maxsize=64)
def _count(data: str) -> int:
    """Counts the questions of a data set; results on parts of the same one share the count."""
    return sum(len(package.questions) for package in rebuilt(data))


def _one_run(rows: Sequence[Row]) -> Run:
    """Returns what all rows were made with, but for the package.

    Raises:
        DataError: It is not the same for all, or the rows cannot be a result.
    """
    run = rows[0].run
    alike = {"package": "", "package_sha256": None, "stream_turns": None}
    first = run.model_copy(update=alike)
    for row in rows:
        other = row.run.model_copy(update=alike)
        if other != first:
            mine, theirs = first.model_dump(), other.model_dump()
            differs = ", ".join(name for name in mine if mine[name] != theirs[name])
            raise DataError(
                f"the rows are of several runs (different: {differs}); a result is of one system, "
                "data set, track, length, reader and prompt: name a directory that holds one"
            )
    if run.scaleqa is None or any(row.run.package_sha256 is None for row in rows):
        raise DataError("the rows do not name their packages' hashes; run the system again")
    if run.reader and run.reader.stand_in:
        raise DataError(
            f"no language model answered ({run.reader.backend}): such answers are no result; for "
            "retrieval alone make rows with: scaleqa retrieve"
        )
    return run


def _packages(rows: Sequence[Row]) -> list[PackageOf]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.run.package, []).append(row)
    return [
        PackageOf(
            name=name,
            sha256=own[0].run.package_sha256 or "",
            turns=own[0].run.stream_turns,
            questions=len(own),
        )
        for name, own in sorted(found.items())
    ]


def _further(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> list[Judge]:
    """Counts the verdicts of each further judge.

    Raises:
        DataError: One has not graded every answer once, or there are no answers.
    """
    expected = sorted((row.run.package, row.id) for row in rows if row.answered)
    by_judge: dict[str, list[Verdict]] = {}
    for one in verdicts:
        by_judge.setdefault(one.judge, []).append(one)
    for judge, own in by_judge.items():
        graded = sorted((one.package, one.id) for one in own)
        if graded != expected:
            raise DataError(
                f"judge {judge} has {len(graded)} verdicts for {len(expected)} answers, or others; "
                "expected one for each"
            )
    return [further_judge(rows, own) for _, own in sorted(by_judge.items())]
