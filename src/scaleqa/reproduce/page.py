"""A table as data: what it says, its figures in columns, its drawing. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scaleqa.pages.drawings import standalone

Form = Callable[[Any], str]


def text(value: object) -> str:
    """Writes a value as it is."""
    return str(value)


def share(value: float) -> str:
    """Writes a share of one, or a cosine."""
    return f"{value:.3f}"


def count(value: float) -> str:
    """Writes a number to the next whole one."""
    return f"{value:,.0f}"


def fine(value: float) -> str:
    """Writes a number to two places."""
    return f"{value:,.2f}"


def span(value: Sequence[float]) -> str:
    """Writes an interval of shares."""
    low, high = value
    return f"{low:.3f} to {high:.3f}" if low < 0 else f"{low:.3f}–{high:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column.

    Attributes:
        key: Its name for programs.
        head: Its name for readers.
        form: Writes a value.
    """

    key: str
    head: str
    form: Form = share


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Rows under columns; a value that a row does not have is written as a dash."""

    title: str = ""
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A table of the paper, ours beside it.

    Attributes:
        title: What it is.
        about: Paragraphs above the figures.
        grids: The figures.
        notes: What to know when reading them.
        drawing: An SVG figure.
    """

    title: str
    about: tuple[str, ...]
    grids: tuple[Grid, ...]
    notes: tuple[str, ...]
    drawing: str


def markdown(page: Page, name: str, command: str) -> str:
    """Writes a page; its drawing is expected in a file beside it."""
    out = [f"# {page.title}", "", f"This page is generated: `{command}`."]
    for paragraph in page.about:
        out += ["", paragraph]
    for grid in page.grids:
        out += ["", f"## {grid.title}"] if grid.title else []
        out += ["", *_grid(grid)]
    out += ["", f"![{page.title}]({name}.svg)", ""]
    out += [f"- {note}" for note in page.notes]
    return "\n".join(out) + "\n"


def drawing(page: Page) -> str:
    """Writes the figure as a file of its own."""
    return standalone(page.drawing)


def as_json(page: Page) -> dict[str, Any]:
    """Tells a page to programs."""
    return {
        "title": page.title,
        "about": list(page.about),
        "tables": [
            {"title": grid.title, "rows": [dict(row) for row in grid.rows]} for grid in page.grids
        ],
        "notes": list(page.notes),
    }


def cells(grid: Grid) -> list[list[str]]:
    """Writes the values of a grid, row by row."""
    return [
        [_cell(row.get(column.key), column.form) for column in grid.columns] for row in grid.rows
    ]


def _grid(grid: Grid) -> list[str]:
    heads = [column.head for column in grid.columns]
    sides = ["---" if column.form is text else "---:" for column in grid.columns]
    return [_line(heads), f"|{'|'.join(sides)}|", *(_line(row) for row in cells(grid))]


def _line(values: Sequence[str]) -> str:
    return f"| {' | '.join(value.replace('|', '¦') for value in values)} |"


def _cell(value: Any, form: Form) -> str:
    return "–" if value is None else form(value)
