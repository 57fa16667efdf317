"""Messages from a table: CSV with a header, separated by commas, semicolons or tabs."""

import csv
import io
from collections.abc import Iterator

from tsim.errors import InputError
from tsim.logs.fields import PROMPT, REPLY, ROLE, TEXT
from tsim.logs.records import Entry, messages


def separator(text: str) -> str | None:
    """Returns what separates the columns, if the first line names those of a conversation."""
    header = text.lstrip().splitlines()[:1]
    for mark in (",", ";", "\t"):
        names = _names(next(csv.reader(header, delimiter=mark), []))
        if _has(names, ROLE, TEXT) or _has(names, PROMPT, REPLY):
            return mark
    return None


def read_table(text: str) -> Iterator[Entry]:
    """Yields one message for each row, or two where rows have what was asked and answered.

    Empty cells count as absent, unless they are texts.

    Raises:
        InputError: The first line does not name a column of roles and one of texts.
    """
    mark = separator(text)
    if mark is None:
        raise InputError(
            f"the first line of a table must name its columns, among them one of {', '.join(ROLE)} "
            f"and one of {', '.join(TEXT)}; or one of {', '.join(PROMPT)} and one of "
            f"{', '.join(REPLY)}; found {text.lstrip()!r:.80}"
        )
    rows = csv.reader(io.StringIO(text.lstrip(), newline=""), delimiter=mark)
    names = _names(next(rows))
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield f"line {rows.line_num}", InputError(f"not a row of a table ({error})")
            continue
        if any(cell.strip() for cell in row):
            cells = dict(zip(names, row, strict=False))
            kept = {key: cell for key, cell in cells.items() if cell or key in TEXT}
            where = f"line {rows.line_num}"
            if _has(names, ROLE, TEXT):
                yield where, kept
            else:
                yield from messages(kept, where)


def _has(names: list[str], *columns: tuple[str, ...]) -> bool:
    return not any({*names}.isdisjoint(some) for some in columns)


def _names(cells: list[str]) -> list[str]:
    return [cell.strip().strip("\ufeff").lower().replace(" ", "_") for cell in cells]
