"""Threads of any length, built from records and noise, the same bytes every time."""

from scaleqa.lengths import parse_target
from scaleqa.packages.build import BuildSettings, build
from scaleqa.packages.package import Package, Query, StreamTurn, load_packages, write_packages
from scaleqa.packages.select import subset

__all__ = [
    "BuildSettings",
    "Package",
    "Query",
    "StreamTurn",
    "build",
    "load_packages",
    "parse_target",
    "subset",
    "write_packages",
]
