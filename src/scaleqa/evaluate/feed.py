"""Feeding a system: it takes in a package's thread and is asked its questions, one by one."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from scaleqa.backends import ChatModel, Counted
from scaleqa.evaluate.meter import Metered
from scaleqa.evaluate.rows import Account, Detail, Row, Run, Timing, UnitRow
from scaleqa.packages import Package, Question
from scaleqa.systems import Asked, Exchange, Retrieved, System, Tools, open_system
from tsim.embed import Embedder
from tsim.toolkit import tokens

CHUNK = 512
# Units that recall is measured on.
TOP = 5
Progress = Callable[[int, int], None]
Result = TypeVar("Result")


@dataclass(slots=True, kw_only=True)
class Fed:
    """A system that has taken in a package's thread.

    Attributes:
        package: The package.
        run: What its rows are made with.
        system: The system.
        embedder: Its embedder, which counts and measures.
        model: Its language model, which counts.
        cold: Whether times include the embedding of texts.
        ingest_ms: What taking in the thread took.
        embedded_texts: Texts that were embedded for it.
    """

    package: Package
    run: Run
    system: System
    embedder: Metered
    model: Counted | None
    cold: bool
    ingest_ms: float = 0.0
    embedded_texts: int = 0

    def about(self, package: Package, run: Run) -> "Fed":
        """Returns the same system, to be asked the questions of another package on its thread."""
        return replace(self, package=package, run=run)

    def ask(self, place: int, *, detail: bool) -> tuple[Row, Retrieved]:
        """Asks the question at a place; returns its row, without an answer, and what was found."""
        question = self.package.questions[place]
        asked = Asked(
            id=question.id, question=question.question, options=question.options, at=question.at
        )
        found, took = self._timed(partial(self.system.retrieve, asked))
        gold = {*question.evidence}
        shown = found.shown | _quoted(question, found)
        some = found.shown | found.parts.keys()
        best = {turn for unit in found.units[:TOP] for turn in unit.turns}
        together = any(gold <= {*unit.turns} for unit in found.units) if len(gold) > 1 else None
        # Views are for diagnostics: searching them again is no part of what a request takes.
        views = {name: bool(gold & turns) for name, turns in self.system.views(asked).items()}
        first = place == 0
        row = Row(
            run=self.run,
            id=question.id,
            place=place,
            question=question.question,
            options=question.options,
            grader=question.grader,
            gold=question.answer,
            domain=question.domain,
            split=question.split,
            stress=question.stress,
            reasoning=question.reasoning,
            evidence=question.evidence,
            evidence_texts=tuple(self.package.stream[turn].text for turn in question.evidence),
            hit=bool(gold) and gold <= shown,
            partly=bool(gold) and gold <= some,
            recalled=bool(gold) and gold <= best,
            together=together,
            sessions_shown=_sessions_shown(self.package, gold, some),
            views=views,
            evidence_shown=len(gold & shown),
            turns_shown=len(shown),
            exchanges_shown=sum(turn >= len(self.package.stream) for turn in shown),
            context_tokens=tokens.by_words(found.context),
            relevance=None if found.relevance is None else round(found.relevance, 6),
            rewritten=found.rewritten,
            llm_calls=self.calls(),
            account=self._account() if first else None,
            timing=Timing(
                date=datetime.now(UTC).date().isoformat(),
                retrieve_ms=took,
                ingest_ms=self.ingest_ms if first else None,
            ),
            detail=_detail(found, shown) if detail else None,
        )
        return row, found

    def observe(self, exchange: Exchange) -> None:
        """Gives the system an exchange."""
        self.system.observe(exchange)

    def calls(self) -> int:
        """Returns how often the system asked its model since this was last called."""
        if self.model is None:
            return 0
        calls, self.model.calls = self.model.calls, 0
        return calls

    def ingest(self, progress: Progress | None) -> None:
        """Feeds the thread."""
        stream = self.package.stream
        total = len(stream) + len(self.package.questions)
        for start in range(0, len(stream), CHUNK):
            some = stream[start : start + CHUNK]
            _, took = self._timed(partial(self.system.ingest, some))
            self.ingest_ms = round(self.ingest_ms + took, 3)
            if progress:
                progress(start + len(some), total)
        self.embedded_texts = self.embedder.texts

    def _timed(self, do: Callable[[], Result]) -> tuple[Result, float]:
        before, began = self.embedder.seconds, time.perf_counter()
        result = do()
        seconds = time.perf_counter() - began
        if not self.cold:
            seconds -= self.embedder.seconds - before
        return result, round(1000 * max(0.0, seconds), 3)

    def _account(self) -> Account:
        kept = self.system.account()
        return Account(
            turns=len(self.package.stream),
            words=sum(len(turn.text.split()) for turn in self.package.stream),
            vectors=kept.vectors,
            indexed_words=kept.indexed_words,
            embedded_texts=self.embedded_texts,
        )


@contextmanager
def fed_system(
    package: Package,
    run: Run,
    embedder: Embedder,
    *,
    model: ChatModel | None = None,
    cold: bool = False,
    progress: Progress | None = None,
    also: Sequence[Package] = (),
) -> Iterator[Fed]:
    """Opens a fresh system that has taken in a package's thread.

    Args:
        package: The package.
        run: What its rows are made with; names the system.
        embedder: For the system.
        model: A language model for the system.
        cold: Whether times include the embedding of texts: honest only without a cache.
        progress: Called with turns and questions done, and how many there are.
        also: Further packages on the same thread, whose questions will be asked as well.
    """
    counted = Counted(model) if model else None
    metered = Metered(embedder)
    tools = Tools(
        embedder=metered,
        model=counted,
        truth={q.id: q.evidence for one in (package, *also) for q in one.questions},
        dialogues=package.dialogues,
    )
    system = open_system(run.system, tools)
    fed = Fed(package=package, run=run, system=system, embedder=metered, model=counted, cold=cold)
    try:
        fed.ingest(progress)
        yield fed
    finally:
        system.close()


def _quoted(question: Question, found: Retrieved) -> frozenset[int]:
    """Returns the evidence turns that are shown in part, with what is marked as evidence."""
    return frozenset(
        turn
        for turn, quote in zip(question.evidence, question.quotes, strict=bool(question.quotes))
        if any(quote in part for part in found.parts.get(turn, ()))
    )


def _sessions_shown(package: Package, gold: set[int], shown: frozenset[int]) -> bool | None:
    held = [turns for turns in package.dialogues if not gold.isdisjoint(turns)]
    return all(not shown.isdisjoint(turns) for turns in held) if held else None


def _detail(found: Retrieved, shown: frozenset[int]) -> Detail:
    return Detail(
        context=found.context,
        units=tuple(
            UnitRow(turns=unit.turns, score=round(unit.score, 6), label=unit.label, why=unit.why)
            for unit in found.units
        ),
        shown=tuple(sorted(shown)),
    )
