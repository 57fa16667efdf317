"""The paper's streaming rule: cuts where the newest turn differs from the recent ones.

    c = norm(mean of the last recent_turns turns still in the episode)
    s = cos(x, c) + user_after_model_bonus · [the previous speaker is the model, this one the user]
    cut before x  if  (s < min_similarity and L >= min_tokens) or L >= max_tokens
                  and the episode has at least min_turns turns

L is the length of the episode before x joins, in tokens. The rule does not look ahead and never
changes a cut.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tsim import tokens
from tsim.segment.protocol import Arrival, Step
from tsim.types import MODEL_ROLES, USER_ROLE
from tsim.vectors import Vector, unit_vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DriftState:
    """What the rule needs to know about the open episode.

    Attributes:
        words: Number of words in its turns.
        turns: Number of turns.
        role: The speaker of the last turn.
        recent: The vectors of the most recent turns.
    """

    words: int = 0
    turns: int = 0
    role: str = ""
    recent: tuple[Vector, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRule:
    """The rule with its constants; the defaults are the paper's.

    Attributes:
        min_similarity: A turn with lower similarity begins a new episode, if the open one has at
            least `min_tokens`.
        min_tokens: Minimum length of an episode that ends because of low similarity.
        max_tokens: Length at which an episode ends regardless of similarity.
        recent_turns: Number of newest turns that the next one is compared with.
        user_after_model_bonus: Added to the similarity of a user turn that follows a model turn.
        min_turns: Minimum number of turns before an episode can end.
    """

    min_similarity: float = 0.70
    min_tokens: int = 120
    max_tokens: int = 320
    recent_turns: int = 4
    user_after_model_bonus: float = 0.03
    min_turns: int = 2

    def resume(self, episode: Iterable[Arrival]) -> DriftState:
        """Returns the state after the turns of the open episode."""
        state = DriftState()
        for turn in episode:
            state = self._joined(state, turn)
        return state

    def advance(self, state: DriftState, turn: Arrival) -> Step[DriftState]:
        """Decides whether the next turn begins an episode, and returns the state after it."""
        cut = not state.turns or self._ends(state, turn)
        return Step(cut=cut, state=self._joined(DriftState() if cut else state, turn))

    def _similarity(self, state: DriftState, turn: Arrival) -> float:
        centre = unit_vector(np.mean(state.recent, axis=0, dtype=np.float32))
        answered = state.role in MODEL_ROLES and turn.role == USER_ROLE
        return float(turn.vector @ centre) + (self.user_after_model_bonus if answered else 0.0)

    def _ends(self, state: DriftState, turn: Arrival) -> bool:
        if state.turns < self.min_turns:
            return False
        length = tokens.from_words(state.words)
        if length >= self.max_tokens:
            return True
        return length >= self.min_tokens and self._similarity(state, turn) < self.min_similarity

    def _joined(self, state: DriftState, turn: Arrival) -> DriftState:
        return DriftState(
            words=state.words + turn.words,
            turns=state.turns + 1,
            role=turn.role,
            recent=(*state.recent, turn.vector)[-self.recent_turns :],
        )
