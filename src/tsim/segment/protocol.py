"""The interface of segmenters: rules that cut a stream of turns into episodes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tsim.vectors import Vector

State = TypeVar("State")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrival:
    """The input of a segmenter: a turn's speaker, number of words, and vector."""

    role: str
    words: int
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Generic[State]):
    """The result of advancing by one turn.

    Attributes:
        cut: Whether the turn begins a new episode.
        state: The state after the turn.
    """

    cut: bool
    state: State


class Segmenter(Protocol[State]):
    """A rule that cuts a stream of turns into episodes as they arrive.

    A segmenter is a frozen dataclass of constants, which become part of a preset's fingerprint. It
    has no mutable state: the state is a separate value computed from the turns of the open episode,
    so that it can be restored from stored turns.
    """

    def resume(self, episode: Iterable[Arrival]) -> State:
        """Returns the state after the turns of the open episode.

        If there are none, the next turn begins an episode: the thread is new, or its newest episode
        was forgotten.
        """
        ...

    def advance(self, state: State, turn: Arrival) -> Step[State]:
        """Decides whether the next turn begins an episode, and returns the state after it."""
        ...


def cuts(segmenter: Segmenter[State], turns: Iterable[Arrival]) -> list[bool]:
    """Returns for each turn of a thread, from the first, whether it begins an episode."""
    state = segmenter.resume(())
    out = []
    for turn in turns:
        step = segmenter.advance(state, turn)
        state = step.state
        out.append(step.cut)
    return out
