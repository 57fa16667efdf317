"""Tables in a terminal: names are never cut, and a table that is too wide becomes several.

The columns of words at the left name the rows and are repeated. Heads are broken between words, as
narrow as the values below them, and so are cells of words where the terminal is too narrow. Where
that is not enough, lines are longer than the terminal is wide.
"""

import io
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Grid

from scaleqa.pages.table import Column, Table
from tsim.characters import visible

# Spaces between columns: one of padding, one of the box.
GAP = 2


def print_tables(*tables: Table) -> None:
    """Prints tables on stdout, as wide as the terminal is; columns without a value are left out."""
    console = Console(markup=False, highlight=False, emoji=False)
    for number, table in enumerate(tables):
        if number:
            console.print()
        _print(table, console)


def to_text(table: Table, width: int = 80) -> str:
    """Writes a table as it is printed in a terminal of that width."""
    out = io.StringIO()
    _print(table, Console(file=out, width=width, markup=False, highlight=False, emoji=False))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _print(table: Table, console: Console) -> None:
    if table.title:
        console.print(visible(table.title), style="italic", soft_wrap=True)
    width = console.width
    for number, part in enumerate(_fitting(table.filled(), width)):
        if number:
            console.print()
        widths = _shrunk(part, width)
        # Whatever is still too wide is printed whole.
        console.width = max(width, _total(widths))
        console.print(_grid(part, widths))
    console.width = width


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
        if len(last.columns) > len(lead) and _total(_widths(wider)) > width:
            parts.append(replace(table, columns=(*lead, *columns)))
        else:
            parts[-1] = wider
    return parts


def _lead(table: Table) -> tuple[Column, ...]:
    """The columns of words at the left; all but the last in a table of nothing but words."""
    count = next((n for n, one in enumerate(table.columns) if not one.is_text), None)
    return table.columns[: len(table.columns) - 1 if count is None else count]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _widths(table: Table) -> list[int]:
    """How wide each column is where its cells are not broken, and its head is."""
    return [_longest([*cells, *_name(c).split()]) for c, cells in _upright(table)]


def _shrunk(table: Table, width: int) -> list[int]:
    """The same, where columns of words are broken between words as far as needed to fit."""
    widths = _widths(table)
    slack = [
        wide - _longest(" ".join([*cells, _name(c)]).split()) if c.is_text else 0
        for wide, (c, cells) in zip(widths, _upright(table), strict=True)
    ]
    over = max(0, _total(widths) - width)
    for place in sorted(range(len(widths)), key=lambda n: -slack[n]):
        less = min(over, slack[place])
        widths[place] -= less
        over -= less
    return widths


def _upright(table: Table) -> list[tuple[Column, list[str]]]:
    """The columns with their cells."""
    rows = _cells(table)
    return [(column, [row[n] for row in rows]) for n, column in enumerate(table.columns)]


def _cells(table: Table) -> list[list[str]]:
    """Writes all values; nothing in them acts on the terminal."""
    return [[visible(cell) for cell in row] for row in table.cells()]


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _grid(table: Table, widths: Sequence[int]) -> Grid:
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column, wide in zip(table.columns, widths, strict=True):
        head = _broken(_name(column), wide)
        grid.add_column(head, justify="left" if column.is_text else "right", no_wrap=True)
    for row in _cells(table):
        grid.add_row(*(_broken(cell, wide) for cell, wide in zip(row, widths, strict=True)))
    return grid


def _name(column: Column) -> str:
    return f"{column.head} ({column.signs})" if column.signs else column.head


def _broken(text: str, width: int) -> str:
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)
