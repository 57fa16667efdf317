"""Blind readers: items divided so that none gives away another, shown and answered one by one."""

from scaleqa.reading.leaks import Leak, Piece, conflict, leaks
from scaleqa.reading.pieces import find_shards, read_pieces
from scaleqa.reading.sending import send_batch
from scaleqa.reading.sharding import Shard, divide, write_shards
from scaleqa.reading.turns import Shown, next_item, take_answer

__all__ = [
    "Leak",
    "Piece",
    "Shard",
    "Shown",
    "conflict",
    "divide",
    "find_shards",
    "leaks",
    "next_item",
    "read_pieces",
    "send_batch",
    "take_answer",
    "write_shards",
]
