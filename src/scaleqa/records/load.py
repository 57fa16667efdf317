"""Loading records and what belongs to them, from the package or from a path."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from scaleqa.errors import DataError
from scaleqa.records.schema import SPLITS, Aside, Life, Record, Sequel, Wording

PLACE = "data"
DRAWS = "draws.jsonl"
SEQUELS = "sequels.jsonl"
WORDINGS = "wordings.jsonl"
ASIDES = "asides.jsonl"
TALK = "talk.jsonl"
SEQUEL_READINGS = "sequel-readings.jsonl"
TRACK_READINGS = "track-readings.jsonl"
TALK_READINGS = "talk-readings.jsonl"
THIRD_READINGS = "third-readings.jsonl"
THIRD_FUNNEL = "third-funnel.json"
THIRD_VALIDATION = "third-validation.json"
FUNNELS = "track-funnels.json"
CALIBRATION = "calibration.jsonl"
RECEIPTS = "receipts.jsonl"
# Files that may be next to record files but do not contain records.
BESIDE = (
    DRAWS,
    SEQUELS,
    WORDINGS,
    ASIDES,
    TALK,
    SEQUEL_READINGS,
    TRACK_READINGS,
    TALK_READINGS,
    CALIBRATION,
    RECEIPTS,
    THIRD_READINGS,
)
Line = TypeVar("Line", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that could not be parsed."""

    source: str
    line: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplements:
    """What belongs to a set of records and is checked with them."""

    sequels: Sequence[Sequel] = ()
    wordings: Sequence[Wording] = ()
    asides: Sequence[Aside] = ()
    talk: Sequence[Life] = ()


def shipped(split: str | None = None) -> list[Record]:
    """Returns records that ship with the package, ordered by split, domain and number.

    Args:
        split: The split; by default the two that are the paper's 3,000 records.
    """
    return load_lines(_data_files((split,) if split else SPLITS), Record)


def shipped_sequels() -> list[Sequel]:
    """Returns the sequels that ship with the package, ordered by record id."""
    return load_lines(files_beside(None, SEQUELS), Sequel)


def shipped_wordings() -> list[Wording]:
    """Returns the second wordings that ship with the package, ordered by record id."""
    return load_lines(files_beside(None, WORDINGS), Wording)


def shipped_asides() -> list[Aside]:
    """Returns the asides that ship with the package, ordered by id."""
    return load_lines(files_beside(None, ASIDES), Aside)


def shipped_talk() -> list[Life]:
    """Returns the lives that ship with the package, ordered by id."""
    return load_lines(files_beside(None, TALK), Life)


def data_dir() -> Traversable:
    """Returns the package's data directory."""
    return resources.files("scaleqa.records") / PLACE


def load_records(path: Path) -> list[Record]:
    """Reads records from a JSONL file, or from all JSONL files below a directory.

    Raises:
        DataError: A line is not a record; the message names file and line.
    """
    return load_lines(record_files(path), Record)


def load_sequels(path: Path) -> list[Sequel]:
    """Reads sequels from all files named `sequels.jsonl` below a directory.

    Raises:
        DataError: A line is not a sequel; the message names file and line.
    """
    return load_lines(files_beside(path, SEQUELS), Sequel)


def load_wordings(path: Path) -> list[Wording]:
    """Reads second wordings from all files named `wordings.jsonl` below a directory.

    Raises:
        DataError: A line is not a second wording; the message names file and line.
    """
    return load_lines(files_beside(path, WORDINGS), Wording)


def load_asides(path: Path) -> list[Aside]:
    """Reads asides from all files named `asides.jsonl` below a directory.

    Raises:
        DataError: A line is not an aside; the message names file and line.
    """
    return load_lines(files_beside(path, ASIDES), Aside)


def load_talk(path: Path) -> list[Life]:
    """Reads lives from all files named `talk.jsonl` below a directory.

    Raises:
        DataError: A line is not a life; the message names file and line.
    """
    return load_lines(files_beside(path, TALK), Life)


def record_files(path: Path) -> list[Path]:
    """Returns the record files at a path.

    Raises:
        DataError: There are none.
    """
    if path.is_dir():
        files = sorted(p for p in path.rglob("*.jsonl") if p.name not in BESIDE)
        if files:
            return files
    elif path.is_file():
        return [path]
    raise DataError(f"{path} is neither a JSONL file nor a directory that holds one")


def files_beside(path: Path | None, name: str) -> list[Traversable]:
    """Returns the files of a name: the shipped one, or those below a directory of records."""
    if path is None:
        file = data_dir() / name
        return [file] if file.is_file() else []
    return [*sorted(path.rglob(name))] if path.is_dir() else []


def read_supplements(path: Path | None) -> tuple[Supplements, list[BadLine]]:
    """Reads what belongs to records, and reports the lines that cannot be parsed.

    Args:
        path: A directory of records; None for the shipped ones.
    """
    sequels, bad_sequels = read_lines(files_beside(path, SEQUELS), Sequel)
    wordings, bad_wordings = read_lines(files_beside(path, WORDINGS), Wording)
    asides, bad_asides = read_lines(files_beside(path, ASIDES), Aside)
    talk, bad_talk = read_lines(files_beside(path, TALK), Life)
    found = Supplements(sequels=sequels, wordings=wordings, asides=asides, talk=talk)
    return found, [*bad_sequels, *bad_wordings, *bad_asides, *bad_talk]


def read_records(files: Iterable[Traversable]) -> tuple[list[Record], list[BadLine]]:
    """Reads records, and reports the lines that cannot be parsed."""
    return read_lines(files, Record)


def read_lines(files: Iterable[Traversable], model: type[Line]) -> tuple[list[Line], list[BadLine]]:
    """Parses each line as a model, and reports the lines that cannot be parsed."""
    found: list[Line] = []
    bad: list[BadLine] = []
    for file in files:
        for number, line in enumerate(file.read_bytes().splitlines(), 1):
            if not line.strip():
                continue
            try:
                found.append(model.model_validate_json(line))
            except ValidationError as error:
                problem = error.errors(include_url=False)[0]
                where = ".".join(str(part) for part in problem["loc"])
                text = f"{where}: {problem['msg']}" if where else problem["msg"]
                bad.append(BadLine(source=str(file.name), line=number, problem=text))
    return found, bad


def load_lines(files: Iterable[Traversable], model: type[Line]) -> list[Line]:
    """Parses each line as a model.

    Raises:
        DataError: A line cannot be parsed; the message names file and line.
    """
    found, bad = read_lines(files, model)
    if bad:
        first = bad[0]
        raise DataError(
            f"{first.source}, line {first.line}: {first.problem} ({len(bad)} bad lines in total); "
            "run: scaleqa data validate PATH"
        )
    return found


def _data_files(splits: Iterable[str]) -> Iterator[Traversable]:
    for split in splits:
        if (place := data_dir() / split).is_dir():
            files = [f for f in place.iterdir() if f.name.endswith(".jsonl")]
            yield from sorted(files, key=lambda file: file.name)
