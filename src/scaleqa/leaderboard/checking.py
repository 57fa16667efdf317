"""Whether a result follows from what it comes with. What does not is refused, with what differs.

Nothing that a result claims is believed if it can be derived: the result is made again from its
rows, and the packages from the data set that it names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scaleqa.errors import DataError
from scaleqa.leaderboard.consistency import (
    contradictions,
    differences,
    doubled_or_missing,
    few,
    shown_known,
)
from scaleqa.leaderboard.files import Submission
from scaleqa.leaderboard.making import Claims, asked_of, make_result, rebuilt, sampled
from scaleqa.leaderboard.schema import Asked
from scaleqa.packages import Package


class State(StrEnum):
    """What came out of a part of a check."""

    HOLDS = "holds"
    OPEN = "not checked here"
    DIFFERS = "differs"


class About(StrEnum):
    """The parts of a check."""

    ROWS = "rows"
    """Every question once, in order; all of them, unless a sample was asked."""
    HITS = "hits"
    """They follow from the turns that were shown."""
    DATA = "data"
    """Packages, ids and evidence are those of the data set, rebuilt, and a sample is the one that
    its size and seed give."""
    FIGURES = "figures"
    """They follow from the rows."""
    SYSTEM = "system"
    """Run again, it does the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came out of a part of a check, in words."""

    about: About
    state: State
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came out of a check.

    Attributes:
        name: The name of the result.
        findings: What came out, part by part.
        packages: The packages, if they could be rebuilt.
    """

    name: str
    findings: tuple[Finding, ...]
    packages: tuple[Package, ...] = ()

    @property
    def refused(self) -> list[Finding]:
        """What does not follow."""
        return [one for one in self.findings if one.state is State.DIFFERS]

    @property
    def open(self) -> list[Finding]:
        """What could not be checked here."""
        return [one for one in self.findings if one.state is State.OPEN]

    def state(self, about: About) -> State:
        """Returns what came out of a part; parts that were not looked at are open."""
        return next((one.state for one in self.findings if one.about is about), State.OPEN)


def check(submission: Submission, built: dict[str, tuple[Package, ...]] | None = None) -> Checked:
    """Checks a result.

    Args:
        submission: The result with its rows.
        built: Packages by data set, which results on the same one share.
    """
    built = {} if built is None else built
    rows = submission.rows
    if not rows:
        missing = Finding(about=About.ROWS, state=State.DIFFERS, words="there are none")
        return Checked(name=submission.name, findings=(missing,))
    data, packages, asked = _data(submission, built)
    sample = submission.result.questions.sample_seed is not None
    uneven = [*doubled_or_missing(rows, sample=sample)]
    findings = (
        _judged(About.ROWS, uneven, f"{len(rows)} questions, each once"),
        _hits(submission),
        data,
        _judged(About.FIGURES, [*_figures(submission, asked)], "all follow from the rows"),
    )
    return Checked(name=submission.name, findings=findings, packages=packages)


def _hits(submission: Submission) -> Finding:
    wrong = [*contradictions(submission.rows)]
    if not wrong and not shown_known(submission.rows):
        words = "they agree with the counts; the rows do not name the turns that were shown"
        return Finding(about=About.HITS, state=State.OPEN, words=words)
    return _judged(About.HITS, wrong, "they follow from the turns that were shown")


def _data(
    submission: Submission, built: dict[str, tuple[Package, ...]]
) -> tuple[Finding, tuple[Package, ...], Asked | None]:
    """Rebuilds the packages and compares; also counts the questions that could have been asked."""
    spec, claimed = submission.result.data.spec, submission.result.questions
    if spec is None:
        words = "the result names no data set to rebuild its packages from"
        return Finding(about=About.DATA, state=State.OPEN, words=words), (), None
    try:
        if spec not in built:
            built[spec] = tuple(rebuilt(spec))
        packages = built[spec]
        asked = asked_of(spec, packages)
    except DataError as error:
        return Finding(about=About.DATA, state=State.OPEN, words=str(error)), (), None
    try:
        sample = sampled(packages, claimed)
    except DataError as error:
        return _judged(About.DATA, [str(error)], ""), packages, None
    words = "rebuilt: " + ", ".join(f"{one.name} {one.sha256[:12]}" for one in packages)
    if sample is not None:
        drawn = {"asked": len(sample), "sample_seed": claimed.sample_seed}
        asked = asked.model_copy(update=drawn)
        words += f"; the sample of {len(sample)} with seed {claimed.sample_seed}, drawn again"
    wrong = [*differences(submission.rows, packages, sample)]
    return _judged(About.DATA, wrong, words), packages, asked


def _figures(submission: Submission, asked: Asked | None) -> Iterator[str]:
    """Makes the result again and names what differs."""
    claimed = submission.result
    claims = Claims(
        data=claimed.data.spec,
        version=claimed.system.version,
        link=claimed.system.link,
        note=claimed.note,
    )
    if submission.rows_sha256 != claimed.rows_sha256:
        yield f"rows_sha256 is {claimed.rows_sha256}, of the rows {submission.rows_sha256}"
    if submission.receipt and submission.receipt.rows_sha256 != submission.rows_sha256:
        yield "recomputed.json is about other rows; remove it, or run the system again"
    try:
        again = make_result(
            submission.rows, claims, submission.verdicts, asked or claimed.questions
        )
    except DataError as error:
        yield str(error)
        return
    # The hash is that of the file, which may write the same rows otherwise.
    again = again.model_copy(update={"rows_sha256": claimed.rows_sha256})
    if claimed.questions.asked != len(submission.rows):
        yield f"questions.asked is {claimed.questions.asked}, there are {len(submission.rows)} rows"
    yield from _unequal(claimed.model_dump(mode="json"), again.model_dump(mode="json"))


def _unequal(claimed: Any, real: Any, where: str = "") -> Iterator[str]:
    if isinstance(claimed, Mapping) and isinstance(real, Mapping):
        for key in dict.fromkeys([*claimed, *real]):
            inner = f"{where}.{key}" if where else str(key)
            yield from _unequal(claimed.get(key), real.get(key), inner)
    elif isinstance(claimed, list) and isinstance(real, list) and len(claimed) == len(real):
        for place, (one, two) in enumerate(zip(claimed, real, strict=True)):
            yield from _unequal(one, two, f"{where}.{place}")
    elif claimed != real:
        yield f"{where} is {claimed!r:.80}, it follows {real!r:.80}"


def _judged(about: About, wrong: list[str], words: str) -> Finding:
    if wrong:
        return Finding(about=about, state=State.DIFFERS, words=few(wrong))
    return Finding(about=about, state=State.HOLDS, words=words)
