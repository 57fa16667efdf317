"""TSIM: episodic memory for conversations that never end."""

__version__ = "0.1.0"

__all__ = ["__version__"]
