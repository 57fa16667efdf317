"""Drawings as SVG text: data in, a string out."""

from scaleqa.pages.drawings.bars import Bar, bars
from scaleqa.pages.drawings.canvas import standalone
from scaleqa.pages.drawings.colours import PALETTE, colours, ink
from scaleqa.pages.drawings.dots import dots
from scaleqa.pages.drawings.lines import Line, Point, lines
from scaleqa.pages.drawings.stacked import Stack, stacked
from scaleqa.pages.drawings.strip import Track, strip

__all__ = [
    "PALETTE",
    "Bar",
    "Line",
    "Point",
    "Stack",
    "Track",
    "bars",
    "colours",
    "dots",
    "ink",
    "lines",
    "stacked",
    "standalone",
    "strip",
]
