"""Rows of many attempts, put together as one process would have written them."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from scaleqa.evaluate.rows import Row, Run
from scaleqa.shards.board import Piece
from scaleqa.shards.recipe import Recipe

# What determines rows, apart from their times.
Key: TypeAlias = tuple[str, bool, str | None]


def key_of(run: Run, recipe: Recipe) -> Key:
    """Returns what determines the rows of a run."""
    return run.model_dump_json(), recipe.detail, recipe.price


def by_run(pieces: Iterable[Piece]) -> dict[Key, list[Piece]]:
    """Groups pieces by what determines their rows."""
    found: dict[Key, list[Piece]] = {}
    for piece in pieces:
        key = key_of(piece.shard.parts[piece.part].run, piece.shard.recipe)
        found.setdefault(key, []).append(piece)
    return found


def assembled(known: Sequence[Row], pieces: Sequence[Piece]) -> list[Row]:
    """Returns the first rows of a run, as far as there is no gap.

    Finished attempts come before others. An answer may have been another one in each attempt, and
    later ones depend on it, so rows of two attempts at the same questions are never mixed.

    Args:
        known: The first rows that are known.
        pieces: Rows of attempts at this run.
    """
    rows = list(known)
    for piece in sorted(pieces, key=lambda one: (_first(one), not one.done, -len(one.rows))):
        first = _first(piece)
        if first <= len(rows) < first + len(piece.rows):
            rows[first:] = piece.rows
    return rows


def gaps(count: int, known: int, pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """Returns the ranges of questions that have no rows.

    Args:
        count: How many questions there are.
        known: How many of the first have rows.
        pieces: Rows of attempts at this run.
    """
    covered = {*range(known)}
    for piece in pieces:
        covered |= {*range(_first(piece), _first(piece) + len(piece.rows))}
    found: list[tuple[int, int]] = []
    for place in range(count):
        if place in covered:
            continue
        if found and found[-1][1] == place:
            found[-1] = (found[-1][0], place + 1)
        else:
            found.append((place, place + 1))
    return found


def _first(piece: Piece) -> int:
    return piece.shard.parts[piece.part].first
