"""Questions whose matter came up in the thread, and questions whose matter never did.

Whether evidence is retrieved can be said of the former only; of the latter, whether the system
returned nothing, as it should.
"""

from collections.abc import Iterable, Sequence

from scaleqa.errors import DataError
from scaleqa.evaluate.rows import Row
from scaleqa.figures.shares import Share, share
from scaleqa.packages import AS_WRITTEN

OURS = "scaleqa"


def track(row: Row) -> str | None:
    """Returns the track of a row; None for other data sets. Older rows do not name theirs."""
    own = row.run.dataset in (None, OURS)
    return row.run.track or (AS_WRITTEN if own else None)


def one_track(rows: Iterable[Row]) -> str | None:
    """Returns the track that all rows share.

    Raises:
        DataError: They are of several tracks, whose figures must not be mixed.
    """
    names = sorted({track(row) or "" for row in rows})
    if len(names) > 1:
        raise DataError(
            f"rows of {len(names)} tracks ({', '.join(map(repr, names))}) cannot be one figure; "
            "name a directory that holds one track"
        )
    return names[0] or None if names else None


def present(rows: Sequence[Row]) -> list[Row]:
    """Returns the rows of questions whose evidence is in the thread.

    Raises:
        DataError: There are none, so nothing can be said about retrieval.
    """
    found = [row for row in rows if row.present]
    if not found:
        raise DataError(
            f"none of {len(rows)} questions is about something in the thread, so there is no "
            "evidence to retrieve; ask some that are"
        )
    return found


def silent(rows: Iterable[Row]) -> Share | None:
    """Returns the share of absent matters for which nothing was returned; None without any."""
    absent = [row for row in rows if not row.present]
    return share(row.silent for row in absent) if absent else None
