"""Threads of any length, built deterministically from records and noise."""

from scaleqa.packages.build import BuildSettings, Mix, build
from scaleqa.packages.check import check_packages
from scaleqa.packages.package import (
    Block,
    Package,
    Question,
    StreamTurn,
    load_packages,
    write_packages,
)
from scaleqa.packages.select import subset

__all__ = [
    "Block",
    "BuildSettings",
    "Mix",
    "Package",
    "Question",
    "StreamTurn",
    "build",
    "check_packages",
    "load_packages",
    "subset",
    "write_packages",
]
