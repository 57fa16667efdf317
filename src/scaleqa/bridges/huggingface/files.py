"""Tables as files: parquet with typed columns, or JSON lines; the same rows give the same bytes."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from scaleqa.bridges.huggingface.shapes import Fields, Pairs, Scalar, Several, Shape
from scaleqa.bridges.huggingface.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A table on disk.

    Attributes:
        config: The name of the configuration.
        split: The name of the split.
        path: The file, from the directory of the data set.
        rows: Number of rows.
        size: Size of the file in bytes.
        data: Size of the rows in RAM, or of the file where it is not known.
        sha256: Hash of the file.
    """

    config: str
    split: str
    path: str
    rows: int
    size: int
    data: int
    sha256: str

    def as_json(self) -> dict[str, Any]:
        """Returns plain data."""
        return asdict(self)


def write_table(table: Table, directory: Path, form: str) -> Written:
    """Writes a table below a directory, in one of `FORMS`."""
    path = f"{table.config}/{table.split}.{form}"
    file = directory / path
    file.parent.mkdir(exist_ok=True)
    data = FORMS[form](table, file)
    content = file.read_bytes()
    return Written(
        config=table.config,
        split=table.split,
        path=path,
        rows=len(table.rows),
        size=len(content),
        data=data or len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _jsonl(table: Table, file: Path) -> int | None:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in table.rows)
    file.write_text("".join(lines), encoding="utf-8")
    return None


def _parquet(table: Table, file: Path) -> int | None:
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema(_arrow(table.shape))
    content = pyarrow.Table.from_pylist(list(table.rows), schema=schema)
    pyarrow.parquet.write_table(content, file, compression="zstd")
    return int(content.nbytes)


def _arrow(shape: Shape) -> Any:
    import pyarrow

    match shape:
        case Scalar():
            return pyarrow.bool_() if shape.dtype == "bool" else getattr(pyarrow, shape.dtype)()
        case Several() | Pairs():
            return pyarrow.list_(_arrow(shape.item))
        case Fields():
            return pyarrow.struct([(name, _arrow(part)) for name, part in shape.fields.items()])


# Each writes a table to a file, and returns the size of its rows in RAM if it is known.
FORMS: Final[Mapping[str, Callable[[Table, Path], int | None]]] = {
    "parquet": _parquet,
    "jsonl": _jsonl,
}
