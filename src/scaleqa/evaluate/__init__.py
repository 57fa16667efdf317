"""Measuring systems on packages: one row for each question."""

from scaleqa.evaluate.grading import Reading
from scaleqa.evaluate.loop import RunSettings, retrieve_together, run_package, run_packages
from scaleqa.evaluate.rows import Row

__all__ = ["Reading", "Row", "RunSettings", "retrieve_together", "run_package", "run_packages"]
