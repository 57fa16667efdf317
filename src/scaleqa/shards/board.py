"""The board: a directory with a plan, where workers claim shards and put down their rows.

    plan.json              the shards; while it is there, there is work
    packages/SHA/NAME/     the threads, as `scaleqa build` writes them
    attempts/ID.N/         attempt N at a shard: claim.json, shard.json, 0.rows, 1.rows …
    attempts/ID.N.done     the same, when it has ended: done, left, lost or failed
    vectors/               embeddings that workers share
    rate                   when the next request to a server may start
    workers/               what workers of this machine said

A shard is claimed by making the directory of its next attempt, which one process alone can do. All
ends are renamings of that directory: whoever renames it first decides. A worker that was given up
and comes back finds its directory gone, and can put down nothing; what it still writes goes to the
files of an attempt that has ended. Nobody compares clocks, and numbers of processes mean nothing.
"""

import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ValidationError

from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import RowFile, read_rows, write_rows
from scaleqa.evaluate.rows import Row, Stored
from scaleqa.packages import Package, load_packages, write_packages
from scaleqa.shards.plan import Plan, Shard
from tsim import private, unfinished

# Attempts whose workers died, after which a shard is given up.
MOST_LOST = 3
End: TypeAlias = Literal["done", "left", "lost", "failed"]
NAME = re.compile(r"([0-9a-f]{16})\.(\d+)(?:\.(done|left|lost|failed))?")
ROWS = ".rows"
Model = TypeVar("Model", bound=BaseModel)


class Claim(Stored):
    """What a worker says about an attempt while it lives."""

    worker: str
    host: str = ""
    beat: int = 0
    """Another one at every sign of life."""
    done: int = 0
    """Turns and questions done."""


class Reason(Stored):
    """Why an attempt ended without its rows."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An attempt at a shard.

    Attributes:
        path: Its directory.
        id: The shard's.
        number: Which one of the shard's it is.
        end: How it ended; None while somebody works on it.
    """

    path: Path
    id: str
    number: int
    end: End | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Rows of an attempt, which follow each other.

    Attributes:
        shard: What was worked on.
        part: The place of the part in it.
        rows: As many as there are.
        done: Whether the attempt was finished.
    """

    shard: Shard
    part: int
    rows: list[Row]
    done: bool


@dataclass(slots=True)
class Lease:
    """Watches the signs of life of others by our own clock."""

    seconds: float
    _seen: dict[Path, tuple[int, float]] = field(default_factory=dict)

    def expired(self, path: Path, beat: int) -> bool:
        """Returns whether the sign of life has been the same for so long."""
        now = time.monotonic()
        known, since = self._seen.get(path, (None, now))
        if known != beat:
            self._seen[path] = (beat, now)
            return False
        return now - since >= self.seconds


def over(attempts: Sequence[Attempt]) -> bool:
    """Returns whether a shard is done, has failed or was given up."""
    ends = [one.end for one in attempts]
    return "done" in ends or "failed" in ends or ends.count("lost") >= MOST_LOST


def free(attempts: Sequence[Attempt]) -> bool:
    """Returns whether a shard may be claimed."""
    return not over(attempts) and not (attempts and attempts[-1].end is None)


class Board:
    """A directory of plan, claims and rows, shared by processes on any machines."""

    def __init__(self, path: Path) -> None:
        """Uses a directory; nothing is written before there is a plan."""
        self.path = path
        self._attempts = path / "attempts"

    def publish(self, plan: Plan, packages: dict[str, Package]) -> None:
        """Puts up a plan, whole, when everything that it needs is there."""
        private.make_directory(self._attempts)
        for key, package in packages.items():
            if not (self.path / "packages" / key).exists():
                write_packages([package], self.path / "packages" / key)
        _write(self.path / "plan.json", plan)

    def withdraw(self) -> None:
        """Takes the plan down: workers end, and what they have done stays."""
        (self.path / "plan.json").unlink(missing_ok=True)

    def clear(self) -> None:
        """Removes everything but vectors that are shared."""
        self.withdraw()
        (self.path / "rate").unlink(missing_ok=True)
        for name in ("attempts", "packages", "workers"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        with suppress(OSError):
            self.path.rmdir()

    def plan(self) -> Plan | None:
        """Returns the plan, if there is one.

        Raises:
            DataError: It is no plan of this version.
        """
        try:
            return _read(self.path / "plan.json", Plan)
        except FileNotFoundError:
            return None

    def package(self, key: str) -> Package:
        """Loads a package of the plan.

        Raises:
            DataError: It is missing or was changed.
        """
        return load_packages(self.path / "packages" / key)[0]

    def attempts(self) -> dict[str, list[Attempt]]:
        """Lists the attempts at every shard, in order."""
        found: dict[str, list[Attempt]] = {}
        with suppress(FileNotFoundError):
            for path in sorted(self._attempts.iterdir()):
                if match := NAME.fullmatch(path.name):
                    shard, number, end = match.groups()
                    attempt = Attempt(path=path, id=shard, number=int(number), end=cast(Any, end))
                    found.setdefault(shard, []).append(attempt)
        for several in found.values():
            several.sort(key=lambda one: one.number)
        return found

    def claim(self, shard: Shard, worker: str, host: str) -> Attempt | None:
        """Claims a shard that nobody works on, with the rows of earlier attempts.

        Returns:
            The new attempt; None if somebody else was quicker.
        """
        before = self.attempts().get(shard.id, [])
        if not free(before):
            return None
        number = 1 + max((one.number for one in before), default=0)
        path = self._attempts / f"{shard.id}.{number}"
        own = Attempt(path=path, id=shard.id, number=number, end=None)
        try:
            path.mkdir(mode=private.DIRECTORY)
            # A listing may be older than it looks, where directories are shared.
            now = self.attempts().get(shard.id, [])
            if any(one.number >= number and one.path != path for one in now):
                path.rmdir()
                return None
            _write(path / "shard.json", shard)
            _write(path / "claim.json", Claim(worker=worker, host=host))
        except (FileExistsError, FileNotFoundError):  # somebody was quicker, or all is over
            return None
        longest = max(before, key=lambda one: self._length(one, shard), default=None)
        for part in range(len(shard.parts)):
            write_rows(_rows_path(own, part), self._rows(longest, shard, part))
        return own

    def seed(self, shard: Shard, rows: Sequence[Row]) -> None:
        """Puts down the first rows of a shard with one part, if there are not as many."""
        before = self.attempts().get(shard.id, [])
        if rows and all(len(rows) > self._length(one, shard) for one in before):
            number = 1 + max((one.number for one in before), default=0)
            path = private.make_directory(self._attempts / f"{shard.id}.{number}.left")
            _write(path / "shard.json", shard)
            write_rows(path / f"0{ROWS}", rows)

    def complete(self, attempt: Attempt, shard: Shard) -> bool:
        """Returns whether an attempt has all rows."""
        return self._length(attempt, shard) == shard.questions

    def files(self, attempt: Attempt, shard: Shard) -> list[RowFile]:
        """Opens the files for the rows of each part, with those that are there."""
        paths = [_rows_path(attempt, part) for part in range(len(shard.parts))]
        # Without its directory an attempt has ended.
        return [RowFile(path, parents=False) for path in paths]

    def put(self, attempt: Attempt, rows: Sequence[Sequence[Row]]) -> None:
        """Puts down the rows of each part that somebody else has made."""
        for part, own in enumerate(rows):
            write_rows(_rows_path(attempt, part), own)

    def beat(self, attempt: Attempt, claim: Claim) -> bool:
        """Gives a sign of life; returns False if the attempt was ended by somebody else."""
        try:
            _write(attempt.path / "claim.json", claim)
        except FileNotFoundError:
            return False
        return True

    def claim_of(self, attempt: Attempt) -> Claim:
        """Returns what its worker said last."""
        with suppress(FileNotFoundError, DataError):
            return _read(attempt.path / "claim.json", Claim)
        return Claim(worker="unknown")  # it has not said anything yet

    def end(self, attempt: Attempt, end: End, reason: Reason | None = None) -> bool:
        """Ends an attempt; returns False if somebody else did so before."""
        ended = attempt.path.with_name(f"{attempt.path.name}.{end}")
        try:
            if reason:
                _write(attempt.path / "reason.json", reason)
            attempt.path.rename(ended)
        except OSError:
            if attempt.path.exists() and not ended.exists():
                raise
            return False
        return True

    def reason_of(self, attempt: Attempt) -> Reason:
        """Returns why an attempt ended without its rows."""
        with suppress(FileNotFoundError, DataError):
            return _read(attempt.path / "reason.json", Reason)
        claim = self.claim_of(attempt)
        where = f" on {claim.host}" if claim.host else ""
        return Reason(kind="lost", message=f"worker {claim.worker}{where} gave no sign of life")

    def forgive(self, *, alone: bool) -> None:
        """Lets shards that failed or were given up be tried again.

        Args:
            alone: Whether nobody else can be working here, so that whatever was begun is free.
        """
        for several in self.attempts().values():
            for one in several:
                if one.end in ("lost", "failed") or (alone and one.end is None):
                    name = f"{one.id}.{one.number}.left"
                    with suppress(OSError):
                        one.path.rename(one.path.with_name(name))

    def pieces(self) -> Iterator[Piece]:
        """Reads the rows of all attempts, whatever plan they were made for."""
        for several in self.attempts().values():
            for one in several:
                with suppress(FileNotFoundError):
                    shard = _read(one.path / "shard.json", Shard)
                    for part in range(len(shard.parts)):
                        rows = self._rows(one, shard, part)
                        yield Piece(shard=shard, part=part, rows=rows, done=one.end == "done")

    def _rows(self, attempt: Attempt | None, shard: Shard, part: int) -> list[Row]:
        """Reads the rows of a part, as far as they follow each other."""
        path = _rows_path(attempt, part) if attempt else None
        rows = read_rows(path) if path and path.exists() else []
        first = shard.parts[part].first
        return [row for place, row in enumerate(rows, first) if row.place == place]

    def _length(self, attempt: Attempt, shard: Shard) -> int:
        return sum(len(self._rows(attempt, shard, part)) for part in range(len(shard.parts)))


def _rows_path(attempt: Attempt, part: int) -> Path:
    return attempt.path / f"{part}{ROWS}"


def _write(path: Path, value: BaseModel) -> None:
    """Writes a file, whole, where its directory still is."""
    with unfinished.replacing(path) as part:
        part.file.write(value.model_dump_json(exclude_none=True).encode())


def _read(path: Path, kind: type[Model]) -> Model:
    content = path.read_bytes()
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise DataError(
            f"{path} is no {kind.__name__.lower()} of this version of scaleqa ({place}: "
            f"{problem['msg']}); use the version that wrote it, or remove {path.parent}"
        ) from None
