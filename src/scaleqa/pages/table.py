"""A table as data: columns that know how to write a value, rows as mappings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from scaleqa.pages.forms import Form, count, share, span, text

ABSENT = "–"
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column.

    Attributes:
        key: Its name in the rows and for programs.
        head: Its name for readers.
        form: Writes a value.
        below: Columns whose values are written in small print under this one's.
        heat: Whether a cell is coloured as strongly as its value is high, from 0 to 1.
        swatches: A colour for each value, shown before it.
        signs: Letters of the footnotes that hold for the column.
        joined: Whether it says more about the column before it and is never parted from it.
        hover: Key of what a cell is short for, which is shown on hover.
        link: Key of the address that a cell leads to.
    """

    key: str
    head: str
    form: Form = share
    below: tuple["Column", ...] = ()
    heat: bool = False
    swatches: Mapping[str, str] | None = None
    signs: str = ""
    joined: bool = False
    hover: str = ""
    link: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it holds words, which are aligned to the left."""
        return self.form is text

    def written(self, row: Row) -> str:
        """Writes the value of a row; a dash where there is none."""
        value = row.get(self.key)
        return ABSENT if value is None else self.form(value)

    def small(self, row: Row) -> str:
        """Writes what goes below the value; values that are absent are left out."""
        return "; ".join(one.written(row) for one in self.below if row.get(one.key) is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under columns, the first of which names the rows."""

    title: str = ""
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    def filled(self) -> "Table":
        """The same table without columns that have no value in any row."""
        keys = {key for row in self.rows for key, value in row.items() if value is not None}
        return replace(self, columns=tuple(c for c in self.columns if c.key in keys))

    def cells(self) -> list[list[str]]:
        """Writes all values, row by row; what goes below a value follows it in brackets."""
        return [[_cell(column, row) for column in self.columns] for row in self.rows]

    def _repr_html_(self) -> str:
        """For notebooks, whose colours it has."""
        heads = "".join(f"<th>{escape(column.head)}</th>" for column in self.columns)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
            for cells in self.cells()
        )
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def interval(key: str, *, form: Form = span, head: str = "95 %", signs: str = "") -> Column:
    """A column for the interval of the column before it."""
    return Column(key=key, head=head, form=form, signs=signs, joined=True)


def listing(rows: Sequence[Row], *heads: str, title: str = "") -> Table:
    """A table of words and whole numbers, whose columns are the keys of its rows.

    Args:
        rows: The rows; numbers are aligned to the right where a column has nothing else.
        *heads: Names for readers, where they are not the keys.
        title: What it shows.
    """
    keys = list(dict.fromkeys(key for row in rows for key in row))
    names = heads or [key.replace("_", " ") for key in keys]
    columns = []
    for key, name in zip(keys, names, strict=True):
        numbers = all(isinstance(row.get(key), int | None) for row in rows)
        columns.append(Column(key=key, head=name, form=count if numbers else text))
    return Table(title=title, columns=tuple(columns), rows=tuple(rows))


def _cell(column: Column, row: Row) -> str:
    small = column.small(row)
    return f"{column.written(row)} ({small})" if small else column.written(row)
