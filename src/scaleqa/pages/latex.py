"""Tables of a page as LaTeX, for papers; needs the package `booktabs`."""

import re
from collections.abc import Iterator, Sequence

from scaleqa.pages.page import Page
from scaleqa.pages.table import Column, Table

SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "“": "``",
    "”": "''",
    "’": "'",
    "κ": r"$\kappa$",
    "α": r"$\alpha$",
    "\u00a0": "~",
    "\n": " ",
}
_SIGN = re.compile("|".join(map(re.escape, SIGNS)))


def to_latex(page: Page) -> str:
    """Writes the tables of a page, each as a float of its own with its title as the caption."""
    return "\n".join(line for table in page.tables for line in _table(table.filled()))


def escaped(text: str) -> str:
    """Writes text so that LaTeX shows it as it is."""
    return _SIGN.sub(lambda found: SIGNS[found[0]], text)


def _table(table: Table) -> Iterator[str]:
    sides = "".join("l" if column.is_text else "r" for column in table.columns)
    yield r"\begin{table}[t]"
    yield r"\centering"
    yield rf"\begin{{tabular}}{{{sides}}}"
    yield r"\toprule"
    yield _line([_head(column) for column in table.columns])
    yield r"\midrule"
    yield from (_line(row) for row in table.cells())
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield from [rf"\caption{{{escaped(table.title)}}}"] if table.title else []
    yield r"\end{table}"
    yield ""


def _head(column: Column) -> str:
    return f"{column.head} {column.signs}".strip()


def _line(values: Sequence[str]) -> str:
    return f"{' & '.join(map(escaped, values))} \\\\"
