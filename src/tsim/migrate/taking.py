"""Turns as they are taken from another memory: each is checked, and nothing stops the others."""

from collections import Counter, defaultdict
from collections.abc import Callable

from tsim.checking import META_BYTES, META_NAMES, check_meta, check_name, check_turn
from tsim.codec import meta_to_text
from tsim.errors import InputError
from tsim.logs.reading import Problem, printable
from tsim.types import Meta, NewTurn


class Taking:
    """Collects turns, and what was left out.

    Attributes:
        threads: The turns for each thread.
        skipped: What is left out, counted by kind.
        problems: What could not be read.
    """

    def __init__(self, thread: str | None = None) -> None:
        """Takes the name of the thread for everything, if there is to be one."""
        self.threads: defaultdict[str, list[NewTurn]] = defaultdict(list)
        self.skipped: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self._thread = thread

    def take(self, thread: str, where: str, make: Callable[[], NewTurn]) -> None:
        """Takes a turn; one that cannot be kept is a problem.

        Args:
            thread: The thread, unless there is one for everything.
            where: What the turn is called in messages about it.
            make: Returns the turn.
        """
        try:
            name = check_name(self._thread or thread)
            turn = check_turn(make())
        except InputError as error:
            self.refuse(where, error)
        else:
            self.threads[name].append(turn)

    def refuse(self, where: str, error: InputError) -> None:
        """Notes why something cannot be taken."""
        self.problems.append(Problem(where=printable(where), message=printable(str(error))))

    def fitting(self, meta: Meta) -> Meta:
        """Returns as much of a meta as can be kept; what is left out is counted."""
        kept: dict[str, str | int | float | bool | None] = {}
        for name in sorted(meta, key=str):
            more = {**kept, name: meta[name]}
            try:
                check_meta({name: meta[name]})
                fits = len(more) <= META_NAMES and len(meta_to_text(more).encode()) <= META_BYTES
            except InputError:
                fits = False
            if fits:
                kept = more
            else:
                self.skipped["meta"] += 1
        return kept
