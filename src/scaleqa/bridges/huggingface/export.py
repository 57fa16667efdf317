"""Export of a whole data set: a directory that appears complete, or not at all."""

from collections.abc import Callable
from pathlib import Path

from scaleqa.bridges.huggingface.card import readme
from scaleqa.bridges.huggingface.files import FORMS, Written, write_table
from scaleqa.bridges.huggingface.tables import Table, package_tables, row_table, track_tables
from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import all_rows
from scaleqa.packages import load_packages
from tsim import private, unfinished


def export_dataset(
    out: Path,
    *,
    card: str,
    packages: Path | None = None,
    run: Path | None = None,
    form: str = "parquet",
    progress: Callable[[int, int], None] | None = None,
) -> list[Written]:
    """Writes tables and a README.md that say what they are.

    Args:
        out: A directory that does not exist, or is empty.
        card: The dataset card of the records; empty to leave out what ships.
        packages: A directory of packages to add.
        run: A directory of rows to add.
        form: `parquet` or `jsonl`.
        progress: Called with the number of tables that are written, and how many there are.

    Raises:
        DataError: There is nothing to write, or no place for it; nothing was written then.
    """
    if form not in FORMS:
        raise DataError(f"no format {form!r}; there are {', '.join(FORMS)}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out} is not an empty directory; name a new one, or remove it first")
    tables = _tables(card, packages, run)
    if not tables:
        raise DataError("there is nothing to export; leave out --no-tracks, or name --packages")
    private.make_directory(out.absolute().parent)
    with unfinished.scratch(out.absolute().parent) as part:
        whole = part / "dataset"
        whole.mkdir()
        files = []
        for done, table in enumerate(tables):
            if progress:
                progress(done, len(tables))
            files.append(write_table(table, whole, form))
        text = readme(files, {table.config: table.shape for table in tables}, card)
        (whole / "README.md").write_text(text, encoding="utf-8")
        if out.exists():
            out.rmdir()
        whole.rename(out)
    if progress:
        progress(len(tables), len(tables))
    return files


def _tables(card: str, packages: Path | None, run: Path | None) -> list[Table]:
    return [
        *(track_tables() if card else []),
        *(package_tables(load_packages(packages)) if packages else []),
        *([row_table(all_rows(run))] if run else []),
    ]
