"""The directory of a review: what is reviewed, by whom, and the decisions."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scaleqa.errors import DataError
from scaleqa.records.load import load_lines
from scaleqa.records.schema import Record
from tsim import unfinished

FILE = "review.json"
RECORDS = "records.jsonl"
MOST_REVIEWERS = 20


class Settings(BaseModel):
    """What a review is begun with, and never changes.

    Attributes:
        version: The version of this file.
        records: sha256 of the records.
        reviewers: Who reviews, in order.
        each: Reviewers of each record.
        adjudicator: Who decides where they differ.
        blind: Whether the answer is hidden until a reviewer has chosen one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int = Field(default=1, ge=1, le=1)
    records: str
    reviewers: tuple[str, ...] = Field(min_length=1, max_length=MOST_REVIEWERS)
    each: int = Field(ge=1)
    adjudicator: str | None = None
    blind: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Matter:
    """What is reviewed, and by whom."""

    directory: Path
    settings: Settings
    records: Sequence[Record]

    @property
    def ids(self) -> list[str]:
        """The ids of the records, in order."""
        return [record.id for record in self.records]


def content_of(records: Sequence[Record]) -> bytes:
    """Returns records as the bytes of a file."""
    return b"".join(record.model_dump_json().encode() + b"\n" for record in records)


def digest(records: Sequence[Record]) -> str:
    """Returns the sha256 of records."""
    return hashlib.sha256(content_of(records)).hexdigest()


def require_usable(records: Sequence[Record]) -> None:
    """Checks that records can be told apart.

    Raises:
        DataError: There are none, or an id occurs twice.
    """
    if not records:
        raise DataError("there are no records to review")
    seen: set[str] = set()
    for record in records:
        if record.id in seen:
            raise DataError(f"{record.id} occurs twice; decisions are by id, so ids must differ")
        seen.add(record.id)


def begin(directory: Path, records: Sequence[Record], wanted: Settings) -> Matter:
    """Begins a review, or continues the one that is there.

    Args:
        directory: Its directory; the caller holds it.
        records: The records.
        wanted: What it is to be begun with.

    Raises:
        DataError: Another review is there.
    """
    file = directory / FILE
    if file.exists():
        there = load(directory)
        for name in ("records", "reviewers", "each", "adjudicator", "blind"):
            was, now = getattr(there.settings, name), getattr(wanted, name)
            if was != now:
                raise DataError(
                    f"{directory} has a review with other {name}: {_said(was)} there, "
                    f"{_said(now)} now; start it as it was begun, or choose another --out"
                )
        return there
    _write(directory / RECORDS, content_of(records))
    _write(file, wanted.model_dump_json(indent=1).encode() + b"\n")
    return Matter(directory=directory, settings=wanted, records=records)


def load(directory: Path) -> Matter:
    """Reads the review of a directory.

    Raises:
        DataError: There is none, or it was changed.
    """
    file = directory / FILE
    if not file.is_file():
        raise DataError(f"{directory} has no {FILE}; name the directory of a review")
    try:
        settings = Settings.model_validate_json(file.read_bytes())
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = "".join(f"{part}: " for part in problem["loc"])
        raise DataError(f"{file}: {where}{problem['msg']}; put back the file as it was") from None
    place = directory / RECORDS
    if not place.is_file():
        raise DataError(f"{directory} has no {RECORDS}; put back the file")
    records = load_lines([place], Record)
    if digest(records) != settings.records:
        raise DataError(
            f"{place} was changed since the review began; put back the file as it was, since "
            "decisions are about its records"
        )
    return Matter(directory=directory, settings=settings, records=records)


def _write(path: Path, content: bytes) -> None:
    with unfinished.replacing(path) as part:
        part.file.write(content)


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:.12}" if isinstance(value, str) else str(value)
