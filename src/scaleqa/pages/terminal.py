"""Tables in a terminal: names are never cut, and a table that is too wide becomes several.

The columns of words at the left name the rows and are repeated. Heads are broken between words, as
narrow as the values below them. In a table of nothing but words the last column is prose, which is
broken between words too. Where even a single column does not fit beside the names, lines are longer
than the terminal is wide.
"""

import io
import textwrap
from dataclasses import replace

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Grid

from scaleqa.pages.table import Column, Table

# Spaces between columns: one of padding, one of the box.
GAP = 2


def print_tables(*tables: Table) -> None:
    """Prints tables on stdout, as wide as the terminal is; columns without a value are left out."""
    console = Console(markup=False, highlight=False, emoji=False)
    for table in tables:
        _print(table, console)


def to_text(table: Table, width: int = 80) -> str:
    """Writes a table as it is printed in a terminal of that width."""
    out = io.StringIO()
    _print(table, Console(file=out, width=width, markup=False, highlight=False, emoji=False))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _print(table: Table, console: Console) -> None:
    if table.title:
        console.print(table.title, style="italic", soft_wrap=True)
    parts = _fitting(table.filled(), console.width)
    for number, part in enumerate(parts):
        if number:
            console.print()
        # Whatever is still too wide is printed whole.
        console.print(_grid(part, console.width), width=max(console.width, _width(part)))


def _fitting(table: Table, width: int) -> list[Table]:
    """Splits a table into as few as fit, each with the columns that name the rows."""
    lead = _lead(table)
    joined: list[tuple[Column, ...]] = []
    for column in table.columns[len(lead) :]:
        if column.joined and joined:
            joined[-1] += (column,)
        else:
            joined.append((column,))
    parts = [replace(table, columns=lead)]
    for columns in joined:
        last = parts[-1]
        wider = replace(last, columns=(*last.columns, *columns))
        if len(last.columns) > len(lead) and _width(wider) > width:
            parts.append(replace(table, columns=(*lead, *columns)))
        else:
            parts[-1] = wider
    return parts


def _lead(table: Table) -> tuple[Column, ...]:
    """The columns of words at the left; all but the last in a table of nothing but words."""
    count = next((n for n, one in enumerate(table.columns) if not one.is_text), None)
    return table.columns[: len(table.columns) - 1 if count is None else count]


def _width(table: Table) -> int:
    widths = _widths(table)
    return sum(widths) + GAP * (len(widths) - 1)


def _widths(table: Table) -> list[int]:
    """The narrowest that each column can be."""
    columns = [list(cells) for cells in zip(*table.cells(), strict=True)]
    if columns and _prose(table):
        columns[-1] = [word for cell in columns[-1] for word in cell.split()]
    names = [_name(column).split() for column in table.columns]
    columns = columns or [[] for _ in names]
    return [max(map(len, [*cells, *name])) for cells, name in zip(columns, names, strict=True)]


def _prose(table: Table) -> bool:
    return all(column.is_text for column in table.columns)


def _grid(table: Table, width: int) -> Grid:
    widths = _widths(table)
    if _prose(table) and widths:
        widths[-1] += max(0, width - _width(table))
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column, wide in zip(table.columns, widths, strict=True):
        head = _broken(_name(column), wide)
        grid.add_column(head, justify="left" if column.is_text else "right", no_wrap=True)
    for row in table.cells():
        *others, last = row
        grid.add_row(*others, _broken(last, widths[-1]) if _prose(table) else last)
    return grid


def _name(column: Column) -> str:
    return f"{column.head} ({column.signs})" if column.signs else column.head


def _broken(text: str, width: int) -> str:
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)
