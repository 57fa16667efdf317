"""Memories of other programs, read from their files as they are, and brought into a memory."""

from tsim.migrate.bringing import Brought, bring, compare
from tsim.migrate.reading import Migration, read_source

__all__ = ["Brought", "Migration", "bring", "compare", "read_source"]
