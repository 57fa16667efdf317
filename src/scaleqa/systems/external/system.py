"""A system in a process of its own: contexts are made here, from what the process finds."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scaleqa.backends import Counted, Message
from scaleqa.errors import DataError
from scaleqa.packages import StreamTurn
from scaleqa.systems.external import messages
from scaleqa.systems.external.child import Child
from scaleqa.systems.external.costs import Costs, disk, peak_memory
from scaleqa.systems.external.matching import Matcher
from scaleqa.systems.external.messages import PROTOCOL, Hello, Reply, Result, Results
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from tsim import private, unfinished
from tsim.toolkit import indented, tokens

SCRATCH = "scaleqa-external-"
DATA = "data"
# Decimals of vectors on the wire; those of float32 are not exact beyond them.
DECIMALS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that speaks the protocol.

    Attributes:
        name: What errors call it.
        command: How it is started.
        environment: Its environment variables, given the directory it runs in; None for ours.
        mode: Which of its ways to search is meant; empty for its own choice.
        rewrites: Whether it finds texts of its own instead of turns.
    """

    name: str
    command: tuple[str, ...]
    environment: Callable[[Path], Mapping[str, str]] | None = None
    mode: str = ""
    rewrites: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is asked of a program, and what is shown of it.

    Attributes:
        budget: Tokens of a context.
        k: Results asked for.
        window: Consecutive turns that are given to it as one.
        timeout: Seconds that it may take for a line.
    """

    budget: int
    k: int
    window: int = 1
    timeout: float = 600.0


class External(FlatSystem):
    """A program that keeps a thread."""

    def __init__(self, program: Program, tools: Tools, limits: Limits) -> None:
        """Starts the program and lets it open a thread.

        Raises:
            DataError: It cannot be started, speaks another protocol, or fails.
        """
        super().__init__()
        self._embedder = tools.embedder
        self._model = Counted(tools.model) if tools.model else None
        self._rewrites = program.rewrites
        self._limits = limits
        self._matcher = Matcher()
        self._waiting: list[StreamTurn] = []
        self._vectors = 0
        self._given: dict[int, tuple[int, ...]] = {}
        with ExitStack() as opened:
            parent = Path(tempfile.gettempdir())
            # What a killed run left behind quotes its thread, and is removed now.
            directory = opened.enter_context(unfinished.scratch(parent, SCRATCH))
            self._child = Child(
                program.command,
                name=program.name,
                directory=directory,
                serve=self._serve,
                timeout=limits.timeout,
                environment=program.environment and program.environment(directory),
            )
            opened.callback(self._child.part)
            self.hello = self._greet()
            self._data = private.make_directory(directory / DATA)
            self._child.ask(Reply, "open", directory=str(self._data), mode=program.mode)
            self._ending = opened.pop_all()

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Gives turns to the program, or windows of turns as soon as they are full."""
        self._matcher.add(turns)
        self._waiting += turns
        size = self._limits.window
        full = len(self._waiting) // size * size
        ready, self._waiting = self._waiting[:full], self._waiting[full:]
        items = [self._item(ready[start : start + size]) for start in range(0, full, size)]
        if not items:
            return
        self._given |= {ids[0]: ids for _, ids in items}
        self._child.ask(Reply, "add", turns=[item for item, _ in items])

    def retrieve(self, asked: Asked) -> Retrieved:
        """Packs what the program finds, best first, as far as it fits."""
        if not self._given:
            return self.show([])
        found = self._child.ask(
            Results, "search", query=asked.question, limit=self._limits.k, at=asked.at
        )
        return self._packed(found.results)

    def account(self) -> Accounting:
        """Returns the passages embedded for it, the words it was given, and its calls."""
        calls = self._model.calls if self._model else 0
        return Accounting(vectors=self._vectors, indexed_words=self.words, llm_calls=calls)

    def costs(self) -> Costs:
        """Returns what its processes and files take now."""
        return Costs(memory=peak_memory(self._child.pid), disk=disk(self._data))

    def close(self) -> None:
        """Ends the program and deletes what it wrote."""
        self._ending.close()

    def _greet(self) -> Hello:
        about = {"identity": self._embedder.identity, "dimension": self._embedder.dimension}
        model = {"identity": self._model.identity} if self._model else None
        hello = self._child.ask(Hello, "hello", protocol=PROTOCOL, embedder=about, model=model)
        if hello.protocol != PROTOCOL:
            raise DataError(
                f"{hello.name} speaks protocol {hello.protocol}; expected {PROTOCOL}, see "
                "docs/systems.md"
            )
        return hello

    def _item(self, window: Sequence[StreamTurn]) -> tuple[dict[str, object], tuple[int, ...]]:
        """What the program is given, and the turns that it stands for."""
        first = window[0]
        text = first.text if len(window) == 1 else "\n".join(self.line(t.id) for t in window)
        item = {"id": first.id, "role": first.role, "text": text, "at": first.at}
        return item, tuple(turn.id for turn in window)

    def _serve(self, wanted: messages.Wanted | messages.Chat) -> Mapping[str, Any]:
        if isinstance(wanted, messages.Wanted):
            return messages.vectors(self._embed(wanted.embed, wanted.query))
        if self._model is None:
            raise DataError("it asks for a language model, and none is given; name one: --assist")
        reply = self._model.chat(
            [Message(role=one.role, content=one.content) for one in wanted.chat],
            most_tokens=wanted.most_tokens,
            response_format=wanted.response_format,
        )
        return messages.said(
            reply.text,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
        )

    def _embed(self, texts: Sequence[str], query: bool) -> list[list[float]]:
        if query:
            rows = np.array([self._embedder.embed_query(text) for text in texts])
        else:
            rows = np.asarray(self._embedder.embed(texts))
            self._vectors += len(texts)
        found: list[list[float]] = rows.astype(np.float64).round(DECIMALS).tolist()
        return found

    def _packed(self, results: Sequence[Result]) -> Retrieved:
        left = tokens.words_within(self._limits.budget)
        units: list[Unit] = []
        blocks: list[str] = []
        shown: dict[int, None] = {}
        for rank, result in enumerate(results):
            turns = self._turns(result, shown)
            fresh = [turn for turn in turns if turn not in shown]
            block = indented(result.text) if result.text else "\n".join(self.line(t) for t in fresh)
            cost = len(block.split())
            if not block.strip() or cost > left or block in blocks:
                continue
            left -= cost
            blocks.append(block)
            shown.update(dict.fromkeys(fresh))
            score = -float(rank) if result.score is None else result.score
            units.append(Unit(turns=tuple(sorted(turns)), score=score))
        return Retrieved(
            units=tuple(units),
            context="\n\n".join(blocks),
            shown=frozenset(shown),
            rewritten=self._rewrites,
        )

    def _turns(self, result: Result, shown: Mapping[int, None]) -> list[int]:
        """The turns of a result: those it names, or those whose whole text it contains."""
        if result.text:
            return self._matcher.find(result.text, shown)
        unknown = [number for number in result.turns if number not in self._given]
        if unknown:
            raise DataError(
                f"{self.hello.name} found turn {unknown[0]}, which it was not given; the ids of a "
                "result are those that came with the turns"
            )
        return [turn for number in dict.fromkeys(result.turns) for turn in self._given[number]]
