"""Measuring systems on packages."""

from scaleqa.evaluate.retrieve import Diagnosis, diagnose

__all__ = ["Diagnosis", "diagnose"]
