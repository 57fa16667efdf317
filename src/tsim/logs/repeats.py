"""What a log says again: each request of a chat API repeats the conversation so far."""

import hashlib
import json
from collections.abc import Sequence

from tsim.types import NewTurn


class Conversations:
    """The conversations that the records of a log have held so far."""

    def __init__(self) -> None:
        """Begins with none."""
        self._known: set[bytes] = set()

    def continued(self, turns: Sequence[NewTurn]) -> Sequence[NewTurn]:
        """Returns the turns of a record without those that an earlier record held.

        A record continues an earlier one if it begins with everything that was said in that one. A
        single turn is no conversation: people say the same twice.
        """
        digest, known = hashlib.sha256(), 0
        for place, turn in enumerate(turns, 1):
            digest.update(json.dumps([turn.role, turn.text]).encode())
            if digest.digest() in self._known:
                known = place
        if len(turns) > 1:
            self._known.add(digest.digest())
        return turns[known:]
