"""Reads logs of conversations as people have them: chat APIs, exports of chats, tables, text."""

from tsim.logs.detect import Format
from tsim.logs.reading import Log, Problem, read_log

__all__ = ["Format", "Log", "Problem", "read_log"]
