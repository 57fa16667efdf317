"""SCALE-QA: a benchmark of memory for flat, unsegmented, endless conversations."""

from tsim import __version__

__all__ = ["__version__"]
