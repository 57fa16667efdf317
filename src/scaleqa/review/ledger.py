"""Decisions on their way into the journal, each for the state that its form was made for."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from scaleqa.desk import Journal
from scaleqa.errors import InvalidError
from scaleqa.review.decisions import Decision
from scaleqa.review.settings import Matter
from scaleqa.review.standings import Standings, replay


class ConflictError(InvalidError):
    """Something was decided since a form was made."""


class Ledger:
    """The journal and where everything stands after it, for several threads."""

    def __init__(self, matter: Matter, journal: Journal[Decision]) -> None:
        """Begins with the decisions of the journal.

        Args:
            matter: What is reviewed, and by whom.
            journal: The decisions.

        Raises:
            DataError: The journal is not one about these records.
        """
        self._journal = journal
        self._lock = threading.RLock()
        self._standings = replay(matter.ids, matter.settings, journal.entries)

    @contextmanager
    def standing(self) -> Iterator[Standings]:
        """Yields where everything stands; nothing is decided meanwhile."""
        with self._lock:
            yield self._standings

    def get(self, name: str) -> Decision | None:
        """Returns the decision with an id, if there is one."""
        return self._journal.get(name)

    def keep(self, decision: Decision, version: int) -> Decision:
        """Writes a decision; what is returned is on disk.

        Args:
            decision: The decision.
            version: The version of the record that its form was made for.

        Raises:
            ConflictError: It was made for another state of the record.
            DataError: It cannot be written.
        """

        def allowed() -> None:
            if self._standings.version(decision.person, decision.record) != version:
                raise ConflictError("Something was decided about this record after you loaded it.")
            problem = self._standings.problem(decision)
            if problem:
                raise ConflictError(f"This cannot be done: {problem}.")

        with self._lock:
            known = self._journal.get(decision.id) is not None
            kept = self._journal.append(decision, allowed)
            if not known:
                self._standings.take(kept)
            return kept
