"""Loading records and sequels, from the package or from a path."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from scaleqa.errors import DataError
from scaleqa.records.schema import Record, Sequel

PLACE = "data"
SEQUELS = "sequels.jsonl"
READINGS = "sequel-readings.jsonl"
# Files that may be next to record files but do not contain records.
BESIDE = ("draws.jsonl", SEQUELS, READINGS)
Line = TypeVar("Line", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that could not be parsed."""

    source: str
    line: int
    problem: str


def shipped() -> list[Record]:
    """Returns the records that ship with the package, ordered by split, domain and number."""
    return load_lines(_data_files(), Record)


def shipped_sequels() -> list[Sequel]:
    """Returns the sequels that ship with the package, ordered by record id."""
    return load_lines(sequel_files(None), Sequel)


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
    return load_lines(sequel_files(path), Sequel)


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


def sequel_files(path: Path | None) -> list[Traversable]:
    """Returns the sequel files: the shipped one, or those below a directory of records."""
    if path is None:
        return [data_dir() / SEQUELS]
    return [*sorted(path.rglob(SEQUELS))] if path.is_dir() else []


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


def _data_files() -> Iterator[Traversable]:
    for split in sorted(data_dir().iterdir(), key=lambda entry: entry.name):
        if split.is_dir() and split.name.startswith("s"):
            files = [f for f in split.iterdir() if f.name.endswith(".jsonl")]
            yield from sorted(files, key=lambda file: file.name)
