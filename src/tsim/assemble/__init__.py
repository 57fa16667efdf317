"""Assembles ranked episodes into the text of a prompt, within a budget."""

from tsim.assemble.fitting import Arrange, fit
from tsim.assemble.format import MARK, excerpt, heading_bound, indented, line, render, said
from tsim.assemble.windows import WindowSettings, window

__all__ = [
    "MARK",
    "Arrange",
    "WindowSettings",
    "excerpt",
    "fit",
    "heading_bound",
    "indented",
    "line",
    "render",
    "said",
    "window",
]
