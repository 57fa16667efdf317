"""One event: the calls on a memory, and what they brought into the context."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scaleqa.systems.memgpt.functions import FUNCTIONS, SEARCHES, check
from scaleqa.systems.memgpt.memory import Memory, Passage, RefusedError, line, words
from scaleqa.systems.protocol import Unit
from tsim.toolkit import Vector, best, indented, tokens

FOUND = "[found in memory]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a call.

    Attributes:
        text: The text for a model.
        failed: Whether the call was refused.
        scores: Scores of the results on the page, best first.
    """

    text: str
    failed: bool = False
    scores: tuple[float, ...] = ()


class Session:
    """Executes calls; an invalid call is answered with an error message.

    A search result enters the context once, whole, in the order found and while there is room.
    Messages that are in the queue anyway take no room.

    Attributes:
        functions: The functions that may be called.
        units: The search results, in the order found.
    """

    def __init__(
        self, memory: Memory, *, budget: int, page: int, only: Collection[str] = ()
    ) -> None:
        """Starts an event.

        Args:
            memory: The memory to work on.
            budget: Tokens for search results.
            page: Results per page.
            only: The functions that may be called; all if empty.
        """
        self.functions = [f for f in FUNCTIONS if not only or f.name in only]
        self.units: list[Unit] = []
        self._memory = memory
        self._page = page
        self._left = tokens.words_within(budget) - words(FOUND)
        self._texts: list[str] = []
        self._queued = {turn.id for turn in memory.queue}
        self._shown: set[int] = set()
        self._taken: set[tuple[str, int]] = set()
        self._scored: dict[tuple[str, str], Vector] = {}

    @property
    def shown(self) -> frozenset[int]:
        """The turns found; their whole text is in the results or in the queue."""
        return frozenset(self._shown)

    def found(self) -> str:
        """Formats the search results as part of a context."""
        return "\n".join([FOUND, "\n\n".join(self._texts)]) if self._texts else ""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """Executes a call."""
        try:
            function = next((f for f in self.functions if f.name == name), None)
            if function is None:
                names = ", ".join(f.name for f in self.functions)
                raise RefusedError(f"no function {name!r} here; there are {names}")
            given = check(function, arguments)
            return self._search(name, **given) if name in SEARCHES else self._write(name, **given)
        except RefusedError as refused:
            return Result(text=f"error: {refused}", failed=True)

    def _write(self, function: str, /, **given: str) -> Result:
        if function == "core_memory_append":
            self._memory.append_core(given["name"], given["content"])
        elif function == "core_memory_replace":
            self._memory.replace_core(given["name"], given["old_content"], given["new_content"])
        else:
            self._memory.archive(given["content"])
        return Result(text="ok")

    def _search(self, function: str, /, query: str, page: int = 0) -> Result:
        scores = self._scores(function, query)
        # A message that shares no word is not a result; every passage has some similarity.
        total = len(scores) if function == "archival_memory_search" else int((scores > 0).sum())
        start = page * self._page
        places = best(scores, min(total, start + self._page))[start:]
        rows = [f"{len(places)} of {total} results (page {page}):"]
        rows += [self._admit(function, place, float(scores[place])) for place in places]
        return Result(text="\n".join(rows), scores=tuple(float(scores[p]) for p in places))

    def _scores(self, function: str, query: str) -> Vector:
        if not query.strip():
            raise RefusedError("query is empty; say what to look for")
        key = (function, query)
        if key not in self._scored:
            archival = function == "archival_memory_search"
            search = self._memory.archival_scores if archival else self._memory.recall_scores
            self._scored[key] = search(query)
        return self._scored[key]

    def _admit(self, function: str, place: int, score: float) -> str:
        """Adds a result to the context if there is room, and returns its line for a model."""
        held = self._held(function, place)
        new = set(held.turns) - self._shown
        if (function, place) in self._taken or (held.turns and not new):
            return "- (found before)"
        waiting = new <= self._queued and bool(new)
        if not waiting and words(held.text) > self._left:
            return "- (no room left in the context)"
        self._taken.add((function, place))
        self._shown.update(held.turns)
        self.units.append(Unit(turns=held.turns, score=score, label=function))
        if waiting:
            return "- (among the recent messages)"
        self._texts.append(held.text)
        self._left -= words(held.text)
        return f"- {held.text}"

    def _held(self, function: str, place: int) -> Passage:
        if function == "archival_memory_search":
            passage = self._memory.passages[place]
            return replace(passage, text=indented(passage.text))
        message = self._memory.messages[place]
        return Passage(text=line(message), turns=(message.id,))
