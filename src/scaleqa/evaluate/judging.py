"""Grading stored replies again, by any number of judges, without asking the reader again.

Verdicts are kept as they come (see `verdicts`), so a run that is killed goes on where it stopped.
Everything is checked before anybody is asked.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scaleqa.backends import Price, Stop
from scaleqa.errors import DataError
from scaleqa.evaluate.grading import task_of
from scaleqa.evaluate.lock import locked
from scaleqa.evaluate.rowfile import iterate, row_files
from scaleqa.evaluate.rows import Detail, Row
from scaleqa.evaluate.verdicts import VerdictFile, judgement, reply_of, verdict_path
from scaleqa.judges import Judge, ModelJudge, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Replies of one file that one judge has not graded yet.

    Attributes:
        judge: The judge.
        file: Its verdicts on the rows of the file.
        answered: All rows of the file.
        missing: Those without a verdict.
    """

    judge: Judge
    file: VerdictFile
    answered: Sequence[Row]
    missing: Sequence[Row]


@contextmanager
def opened(directory: Path, judges: Sequence[Judge]) -> Iterator[list[Open]]:
    """Holds a run, and says which of its replies the judges have not graded yet.

    Args:
        directory: The run, or several of them.
        judges: The judges.

    Raises:
        DataError: There are no replies, a judge is named twice or does not fit the questions, or
            another run holds the directory.
    """
    names = [judge.identity for judge in judges]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise DataError(f"judge {twice} is named twice; name every judge once")
    files = row_files(directory)
    if not files:
        raise DataError(f"{directory} holds no rows; make some with: scaleqa run --out")
    with ExitStack() as stack:
        for run in sorted({path.parent.parent for path in files}):
            stack.enter_context(locked(run))
        replies = {path: _replies(path) for path in files}
        work = [_open(path, replies[path], judge) for judge in judges for path in files]
        for one in work:
            stack.enter_context(closing(one.file))
        yield work


def judge_rows(
    directory: Path,
    judges: Sequence[Judge],
    *,
    workers: int = 1,
    price: Price | None = None,
    progress: Callable[[int, int], None] | None = None,
    stop: Stop | None = None,
) -> int:
    """Grades all replies that the judges have not graded yet; returns how many verdicts are new.

    Args:
        directory: The run, or several of them.
        judges: The judges.
        workers: Replies that are graded at once.
        price: What the tokens of judges that ask a model cost, where known.
        progress: Called with verdicts made and wanted.
        stop: Ends the work; what was asked is kept.

    Raises:
        DataError: See `opened`.
    """
    with opened(directory, judges) as work, ThreadPoolExecutor(workers) as pool:
        total = sum(len(one.missing) for one in work)
        done = 0

        def keep(one: Open, row: Row, verdict: Verdict) -> None:
            nonlocal done
            one.file.append(judgement(row, verdict, price))
            done += 1
            if progress:
                progress(done, total)

        for one in work:
            _grade(one, pool, keep, stop or Stop())
    return total


def _grade(
    one: Open,
    pool: ThreadPoolExecutor,
    keep: Callable[[Open, Row, Verdict], None],
    stop: Stop,
) -> None:
    """Grades in order; what was asked when something fails is waited for and kept as well."""

    def grade(row: Row) -> Verdict:
        stop.check()
        return one.judge.grade(task_of(row), reply_of(row))

    asked: list[tuple[Row, Future[Verdict]]] = []
    kept = 0
    try:
        asked += [(row, pool.submit(grade, row)) for row in one.missing]
        for row, future in asked:
            keep(one, row, future.result())
            kept += 1
    finally:
        rest = asked[kept:]
        if rest:
            stop.set()
        for _, future in rest:
            future.cancel()
        for row, future in rest:
            if not future.cancelled() and future.exception() is None:
                keep(one, row, future.result())


def _replies(path: Path) -> list[Row]:
    """Reads the rows with answers, without the contexts, which take much room."""
    rows = []
    for row in iterate(path):
        if row.run.reader is not None:
            bare = Detail(context="", units=(), shown=(), reply=reply_of(row))
            rows.append(row.model_copy(update={"detail": bare}))
    if not rows:
        raise DataError(
            f"{path} holds no answers, only what was retrieved; judges need rows of scaleqa run "
            "or scaleqa batch import"
        )
    return rows


def _open(path: Path, rows: Sequence[Row], judge: Judge) -> Open:
    file = VerdictFile(verdict_path(path, judge.identity), judge.identity)
    if isinstance(judge, ModelJudge):
        for row in rows:
            judge.request(task_of(row), reply_of(row))  # prompts that do not fit are refused
    return Open(
        judge=judge,
        file=file,
        answered=rows,
        missing=[row for row in rows if file.of(row) is None],
    )
