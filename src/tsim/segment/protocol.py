"""The seam between an engine that keeps episodes and a rule that cuts a stream into them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tsim.vectors import Vector

State = TypeVar("State")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrival:
    """A turn as a segmenter sees it: who speaks, how many words, and its vector."""

    role: str
    words: int
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Generic[State]):
    """What a turn did.

    Attributes:
        cut: Whether the turn begins a new episode.
        state: The state with the turn in it.
    """

    cut: bool
    state: State


class Segmenter(Protocol[State]):
    """A rule that cuts a stream of turns into episodes as they arrive.

    A segmenter is a frozen dataclass of constants, which become part of a preset's fingerprint. It
    keeps nothing itself: its state is a value that follows from the turns of the open episode, so
    that it can be had again from a file.
    """

    def resume(self, episode: Iterable[Arrival]) -> State:
        """Returns the state after the turns of the open episode.

        Without any, the next turn begins an episode: the thread is new, or its newest episode was
        forgotten.
        """
        ...

    def advance(self, state: State, turn: Arrival) -> Step[State]:
        """Decides whether a new episode begins with the next turn, and moves one turn on."""
        ...


def cuts(segmenter: Segmenter[State], turns: Iterable[Arrival]) -> list[bool]:
    """Tells for each turn of a thread, from its first on, whether an episode begins with it."""
    state = segmenter.resume(())
    out = []
    for turn in turns:
        step = segmenter.advance(state, turn)
        state = step.state
        out.append(step.cut)
    return out
