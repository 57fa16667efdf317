"""Assembles ranked episodes into the text of a prompt, within a budget."""

from tsim.assemble.fitting import Arrange, fit
from tsim.assemble.format import (
    CONTEXT_BUDGET,
    MARK,
    chronological,
    excerpt,
    heading_bound,
    indented,
    line,
    render,
    said,
)
from tsim.assemble.windows import WindowSettings, window

__all__ = [
    "CONTEXT_BUDGET",
    "MARK",
    "Arrange",
    "WindowSettings",
    "chronological",
    "excerpt",
    "fit",
    "heading_bound",
    "indented",
    "line",
    "render",
    "said",
    "window",
]
