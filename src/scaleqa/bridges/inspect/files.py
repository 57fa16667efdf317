"""Logs on disk, in the two formats of Inspect: the same rows give the same bytes."""

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

from inspect_ai.log import EvalLog, write_eval_log

from scaleqa.bridges.inspect.logs import log_of
from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import read_rows, row_files
from tsim import private, unfinished

FORMATS = ("eval", "json")


def export_logs(
    run: Path, out: Path, form: str = "eval", *, progress: Callable[[int, int], None] | None = None
) -> list[Path]:
    """Writes one log for each file of rows; a log that is there already is replaced.

    Args:
        run: Directory of rows.
        out: Directory for the logs.
        form: `eval` or `json`.
        progress: Called with the number of files that are done, and how many there are.

    Raises:
        DataError: There are no rows, a file holds something else, or the format is unknown.
    """
    if form not in FORMATS:
        raise DataError(f"no format {form!r}; there are {', '.join(FORMATS)}")
    logs = [rows for file in row_files(run) if (rows := read_rows(file))] if run.is_dir() else []
    if not logs:
        raise DataError(f"{run} holds no rows; make some with: scaleqa run or scaleqa retrieve")
    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is no directory; name one for the logs")
    private.make_directory(out)
    written = []
    for done, rows in enumerate(logs):
        if progress:
            progress(done, len(logs))
        log = log_of(rows)
        path = out / f"{_name(log)}.{form}"
        _write(log, path, form)
        written.append(path)
    if progress:
        progress(len(logs), len(logs))
    return written


def _name(log: EvalLog) -> str:
    """Returns a name as Inspect writes it: the time, the task and its id."""
    args = log.eval.task_args
    task = re.sub(r"[^\w.=]+|_", "-", f"{args['system']}-{args['package']}")
    return f"{log.eval.created[:10]}T00-00-00-00-00_{task}_{log.eval.task_id}"


def _write(log: EvalLog, path: Path, form: str) -> None:
    with unfinished.scratch(path.parent) as part, unfinished.replacing(path) as whole:
        written = part / f"log.{form}"
        write_eval_log(log, written)
        if form == "eval":
            _undated(written, whole.path)
        else:
            whole.file.write(written.read_bytes())


def _undated(archive: Path, path: Path) -> None:
    """Copies an archive without the times at which its members were written."""
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            member = zipfile.ZipInfo(name)
            member.external_attr = private.FILE << 16
            target.writestr(member, source.read(name), compress_type=zipfile.ZIP_DEFLATED)
