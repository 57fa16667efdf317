"""SCALE-QA: a benchmark of memory for flat, unsegmented, endless conversations."""

__version__ = "0.1.0"

__all__ = ["__version__"]
