"""Records from files: ours in the package, anybody's by path."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from pydantic import ValidationError

from scaleqa.errors import DataError
from scaleqa.records.schema import Record

PLACE = "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that is no record."""

    source: str
    line: int
    problem: str


def shipped() -> list[Record]:
    """Returns the records that ship with the package, in order of split, domain and number."""
    records, bad = read_records(_data_files())
    if bad:
        raise DataError(f"{bad[0].source}, line {bad[0].line}: {bad[0].problem}")
    return records


def data_dir() -> Traversable:
    """Returns the package's data directory."""
    return resources.files("scaleqa.records") / PLACE


def load_records(path: Path) -> list[Record]:
    """Reads records from a JSONL file, or from all JSONL files below a directory.

    Raises:
        DataError: A line is no record; the message has file and line.
    """
    records, bad = read_records(record_files(path))
    if bad:
        first = bad[0]
        raise DataError(
            f"{first.source}, line {first.line}: {first.problem} ({len(bad)} bad lines in all); "
            "run: scaleqa data validate PATH"
        )
    return records


def record_files(path: Path) -> list[Path]:
    """Returns the files of records at a path.

    Raises:
        DataError: There are none.
    """
    if path.is_dir():
        files = sorted(p for p in path.rglob("*.jsonl") if p.name != "draws.jsonl")
        if files:
            return files
    elif path.is_file():
        return [path]
    raise DataError(f"{path} is neither a JSONL file nor a directory that holds one")


def read_records(
    files: Iterator[Traversable] | list[Path],
) -> tuple[list[Record], list[BadLine]]:
    """Reads what can be read and reports the rest."""
    records: list[Record] = []
    bad: list[BadLine] = []
    for file in files:
        for number, line in enumerate(file.read_bytes().splitlines(), 1):
            if not line.strip():
                continue
            try:
                records.append(Record.model_validate_json(line))
            except ValidationError as error:
                problem = error.errors(include_url=False)[0]
                where = ".".join(str(part) for part in problem["loc"])
                text = f"{where}: {problem['msg']}" if where else problem["msg"]
                bad.append(BadLine(source=str(file.name), line=number, problem=text))
    return records, bad


def _data_files() -> Iterator[Traversable]:
    for split in sorted(data_dir().iterdir(), key=lambda entry: entry.name):
        if split.is_dir() and split.name.startswith("s"):
            files = [f for f in split.iterdir() if f.name.endswith(".jsonl")]
            yield from sorted(files, key=lambda file: file.name)
