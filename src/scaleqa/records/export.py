"""Export of the dataset in the layout of the Hugging Face hub."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scaleqa.errors import DataError
from scaleqa.records.schema import CELLS, Record

FRONT = """---
license: cc-by-4.0
language: [en]
task_categories: [question-answering, multiple-choice]
pretty_name: SCALE-QA
size_categories: [1K<n<10K]
configs:
- config_name: default
  data_files:
{files}
---

"""


def export(records: Sequence[Record], out: Path, form: str, card: str) -> list[Path]:
    """Writes one file per split, and a README with the card.

    Raises:
        DataError: The format is unknown, or needs a package that is not installed.
    """
    writers = {"jsonl": _jsonl, "parquet": _parquet}
    if form not in writers:
        raise DataError(f"no format {form!r}; there are {', '.join(writers)}")
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for split in CELLS:
        rows = [record.model_dump() for record in records if record.split == split]
        if rows:
            path = out / f"{split}.{form}"
            writers[form](path, rows)
            written.append(path)
    files = "\n".join(f"  - split: {path.stem}\n    path: {path.name}" for path in written)
    readme = out / "README.md"
    readme.write_text(FRONT.format(files=files) + card, encoding="utf-8")
    return [*written, readme]


def _jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")


def _parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(
            "parquet needs pyarrow, which is not installed: pip install 'scaleqa[parquet]'"
        ) from None
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
