"""Results on disk: a directory each, the same bytes for the same rows."""

import gzip
import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import read_lines, row_lines, write_whole
from scaleqa.evaluate.rows import Row
from scaleqa.leaderboard.schema import SCHEMA, Receipt, Result, Verdict
from tsim import gzipped
from tsim.errors import InputError

RESULT, ROWS, VERDICTS, RECEIPT = (
    "result.json", "rows.jsonl.gz", "verdicts.jsonl.gz", "recomputed.json",
)  # fmt: skip
# Bytes that the rows of a result may unpack to, and that the other files may have.
MOST_ROWS = 1 << 30
MOST = 1 << 20
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A result with what it follows from.

    Attributes:
        path: Its directory.
        result: What it says.
        rows: The rows, in the order of the file.
        rows_sha256: Hash of them, unpacked.
        verdicts: What further judges found.
        receipt: Says that the system was run again; None if nobody did.
    """

    path: Path
    result: Result
    rows: Sequence[Row]
    rows_sha256: str
    verdicts: Sequence[Verdict] = ()
    receipt: Receipt | None = None

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.path.name


def find_results(path: Path) -> list[Path]:
    """Finds the results in a directory, or that it is one itself.

    Raises:
        DataError: There are none.
    """
    found = [path] if (path / RESULT).is_file() else sorted(f.parent for f in path.rglob(RESULT))
    if not found:
        raise DataError(
            f"{path} has no {RESULT}, nor has a directory below it; make a result with: "
            "scaleqa leaderboard add RUN_DIR --out results/NAME"
        )
    return found


def read_submission(path: Path) -> Submission:
    """Reads a result with its rows.

    Raises:
        DataError: A file is missing, damaged, or does not follow the schema.
    """
    result = read_result(path / RESULT)
    unpacked = _unpacked(path / ROWS)
    verdicts = path / VERDICTS
    lines = _unpacked(verdicts).splitlines() if verdicts.is_file() else []
    return Submission(
        path=path,
        result=result,
        rows=list(read_lines(io.BytesIO(unpacked), path / ROWS)),
        rows_sha256=hashlib.sha256(unpacked).hexdigest(),
        verdicts=[_model(Verdict, line, verdicts) for line in lines],
        receipt=_receipt(path / RECEIPT),
    )


def read_result(path: Path) -> Result:
    """Reads what a result says, without its rows.

    Raises:
        DataError: The file is missing, or does not follow the schema of this version.
    """
    content = _small(path)
    try:
        found = from_json(content)
    except ValueError as error:
        raise DataError(f"{path} is no JSON ({error})") from None
    version = found.get("schema_version") if isinstance(found, dict) else None
    if version != SCHEMA:
        raise DataError(
            f"{path} has schema version {version!r:.40}, and this scaleqa reads version {SCHEMA}; "
            "use the scaleqa that wrote it, or make the result again from its run"
        )
    return _model(Result, content, path)


def write_submission(
    path: Path, result: Result, rows: Iterable[Row], verdicts: Sequence[Verdict]
) -> None:
    """Writes a result; `result.json` comes last, since a directory without it is none."""
    write_whole(path / ROWS, _packed(row_lines(rows)))
    if verdicts:
        lines = "".join(one.model_dump_json(exclude_none=True) + "\n" for one in verdicts)
        write_whole(path / VERDICTS, _packed(lines.encode()))
    write_whole(path / RESULT, _document(result))


def write_receipt(path: Path, receipt: Receipt) -> None:
    """Notes that the system of a result was run again."""
    write_whole(path / RECEIPT, _document(receipt))


def rows_sha256(rows: Iterable[Row]) -> str:
    """Returns the hash of rows as they are written."""
    return hashlib.sha256(row_lines(rows)).hexdigest()


def read_verdicts(path: Path) -> list[Verdict]:
    """Reads verdicts of further judges, as lines of JSON.

    Raises:
        DataError: The file is missing, or a line is no verdict.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})") from None
    return [_model(Verdict, line, path) for line in lines]


def _receipt(path: Path) -> Receipt | None:
    return _model(Receipt, _small(path), path) if path.is_file() else None


def _small(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MOST + 1)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); a result has one") from None
    if len(content) > MOST:
        raise DataError(f"{path} has more than {MOST:,} bytes; expected the few that it needs")
    return content


def _model(kind: type[Model], content: bytes, path: Path) -> Model:
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"])) or "the file"
        raise DataError(
            f"{path} does not follow the schema: {where}: {problem['msg']} "
            f"({error.error_count()} problems in total); see: scaleqa leaderboard schema"
        ) from None


def _unpacked(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return gzipped.unpacking(file, most=MOST_ROWS).read()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); a result has one") from None
    except InputError as error:
        raise DataError(f"{path}: {error}") from None


def _packed(content: bytes) -> bytes:
    """Packs bytes; neither the time nor a name is in the outcome."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=out, mtime=0) as file:
        file.write(content)
    return out.getvalue()


def _document(value: BaseModel) -> bytes:
    return (value.model_dump_json(indent=1, exclude_none=True) + "\n").encode()
