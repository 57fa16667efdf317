"""Measuring systems on packages: one row for each question."""

from scaleqa.evaluate.grading import Reading
from scaleqa.evaluate.loop import RunSettings, retrieve_together, run_package
from scaleqa.evaluate.rows import Row
from scaleqa.evaluate.runs import run_packages, run_systems

__all__ = [
    "Reading",
    "Row",
    "RunSettings",
    "retrieve_together",
    "run_package",
    "run_packages",
    "run_systems",
]
