"""The paper's streaming rule: cut where the newest turn drifts from the recent ones.

    c = norm(mean of the recent turns still in the episode)
    s = cos(x, c) + bonus · [the previous speaker is the model and this one the user]
    cut before x  if  (s < threshold and L >= min_tokens) or L >= max_tokens
                  and the episode holds at least min_turns turns

L is the length of the episode before x joins. Nothing looks ahead and no cut is ever revisited.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tsim import tokens
from tsim.types import MODEL_ROLES, USER_ROLE
from tsim.vectors import Vector, unit_vector


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftSettings:
    """Constants of the rule."""

    threshold: float
    min_tokens: int
    max_tokens: int
    recent: int
    bonus: float
    min_turns: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """The open episode as far as the rule cares: all of it follows from the episode's turns."""

    words: int = 0
    turns: int = 0
    role: str = ""
    recent: tuple[Vector, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a turn did: the buffer after it, and whether it opened a new episode.

    Attributes:
        buffer: The open episode with the turn in it.
        cut: Whether the turn starts a new episode.
        similarity: The score s against the recent turns, None for the first turn of a thread.
    """

    buffer: Buffer
    cut: bool
    similarity: float | None


def advance(
    settings: DriftSettings, buffer: Buffer, *, role: str, words: int, vector: Vector
) -> Step:
    """Moves the rule one turn on."""
    if not buffer.turns:
        return Step(buffer=_join(settings, buffer, role, words, vector), cut=True, similarity=None)
    similarity = _similarity(settings, buffer, role, vector)
    length = tokens.from_words(buffer.words)
    drifted = similarity < settings.threshold and length >= settings.min_tokens
    cut = buffer.turns >= settings.min_turns and (drifted or length >= settings.max_tokens)
    base = Buffer() if cut else buffer
    joined = _join(settings, base, role, words, vector)
    return Step(buffer=joined, cut=cut, similarity=similarity)


def refill(
    settings: DriftSettings, turns: Iterable[tuple[str, int]], vectors: Sequence[Vector]
) -> Buffer:
    """Returns the buffer of an open episode from the role and words of its turns."""
    buffer = Buffer()
    for (role, words), vector in zip(turns, vectors, strict=True):
        buffer = _join(settings, buffer, role, words, vector)
    return buffer


def _similarity(settings: DriftSettings, buffer: Buffer, role: str, vector: Vector) -> float:
    centre = unit_vector(np.mean(buffer.recent, axis=0, dtype=np.float32))
    answered = buffer.role in MODEL_ROLES and role == USER_ROLE
    return float(vector @ centre) + (settings.bonus if answered else 0.0)


def _join(settings: DriftSettings, buffer: Buffer, role: str, words: int, vector: Vector) -> Buffer:
    return Buffer(
        words=buffer.words + words,
        turns=buffer.turns + 1,
        role=role,
        recent=(*buffer.recent, vector)[-settings.recent :],
    )
