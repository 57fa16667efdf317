"""The conformance suite for systems. Subclass it and implement `open_system`.

class TestMyMemory(SystemConformance):
    def open_system(self, tools):
        return MyMemory(tools)
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar

import pytest

from scaleqa.systems import Retrieved, Sees, System, Tools
from scaleqa.testing.embedder import WordEmbedder
from scaleqa.testing.thread import (
    ASKED,
    DIALOGUES,
    REQUESTS,
    THREAD,
    TRUTH,
    TURNS,
    HiddenDialogues,
    HiddenTruth,
    ask,
    exchange,
)
from tsim.toolkit import tokens

ALL = frozenset(range(TURNS))
# Sizes of the pieces in which the thread is ingested; they add up to its length.
PIECES = (1, 20, 0, 2, 100, 77, 150, 50)
EARLY = 150


class SystemConformance:
    """Behaviour that the benchmark relies on.

    Attributes:
        sees: The part of the truth that the system declares to see.
        finds_exchanges: Whether a request finds an exchange with the same words; False only for
            systems that show nothing or only the evidence.
        sorts_by_score: Whether units are ordered by score; False if another rule orders them.
        most_tokens: Maximum tokens of a context, if `open_short` limits them.
        most_units: Maximum number of units, if `open_short` limits them.
    """

    sees: ClassVar[Sees] = Sees.NONE
    finds_exchanges: ClassVar[bool] = True
    sorts_by_score: ClassVar[bool] = True
    most_tokens: ClassVar[int | None] = None
    most_units: ClassVar[int | None] = None

    @abstractmethod
    def open_system(self, tools: Tools) -> System:
        """Opens an empty system."""

    def open_short(self, tools: Tools) -> System:
        """Opens an empty system whose contexts are limited to a few hundred tokens."""
        return self.open_system(tools)

    def test_what_is_shown_was_told_and_is_in_the_context(self) -> None:
        """A turn counts as shown only if its whole text is in the context."""
        with self._fed() as system:
            for found in _answers(system):
                assert found.shown <= ALL
                assert {turn for unit in found.units for turn in unit.turns} <= ALL
                assert all(THREAD[turn].text in found.context for turn in found.shown)

    def test_units_are_best_first_and_hold_their_turns_in_order(self) -> None:
        """Recall is computed over the first few units."""
        with self._fed() as system:
            for found in _answers(system):
                for unit in found.units:
                    assert list(unit.turns) == sorted({*unit.turns})
                scores = [unit.score for unit in found.units]
                assert not self.sorts_by_score or scores == sorted(scores, reverse=True)

    def test_the_same_thread_gives_the_same_answers_in_any_pieces(self) -> None:
        """Requests in between make no difference either."""
        with self._fed() as whole, self._opened() as single, self._opened() as mixed:
            for turn in THREAD:
                single.ingest([turn])
            start = 0
            for size in PIECES:
                mixed.ingest(THREAD[start : start + size])
                start += size
                mixed.retrieve(REQUESTS[1])
            assert start == TURNS
            assert _answers(single) == _answers(mixed) == _answers(whole)
            assert single.account() == mixed.account() == whole.account()

    def test_asking_changes_nothing(self) -> None:
        """A request affects neither later results nor what the system keeps."""
        with self._fed() as system, self._fed() as other:
            found, kept = _answers(system), system.account()
            assert [other.retrieve(asked) for asked in reversed(REQUESTS)] == found[::-1]
            assert _answers(system) == found
            assert system.account() == kept

    def test_nothing_is_known_of_turns_to_come(self) -> None:
        """Not even through another system in the same process that has seen them."""
        with self._opened() as early, self._fed() as late, self._opened() as again:
            early.ingest(THREAD[:EARLY])
            before = early.retrieve(ASKED)
            _answers(late)
            late.observe(exchange(TURNS))
            again.ingest(THREAD[:EARLY])
            assert again.retrieve(ASKED) == before
            assert before.shown <= set(range(EARLY))

    def test_a_fresh_system_is_empty_and_can_be_asked(self) -> None:
        """Nothing of an earlier thread is left, and an empty thread is valid."""
        with self._fed() as system, self._opened() as fresh:
            _answers(system)
            fresh.ingest([])
            found = fresh.retrieve(ASKED)
            assert (found.units, found.shown) == ((), frozenset())
            assert (fresh.account().vectors, fresh.account().indexed_words) == (0, 0)
            assert not any(fresh.views(ASKED).values())

    def test_an_exchange_becomes_part_of_the_thread(self) -> None:
        """It is kept like any two turns, and can be found."""
        pair = exchange(TURNS)
        with self._fed() as fed, self._fed() as watched:
            for system in (fed, watched):
                system.retrieve(ASKED)
            fed.ingest(pair.turns)
            watched.observe(pair)
            same = ask(pair.turns[0].text)
            found = watched.retrieve(same)
            # A system that sees boundaries knows that an exchange is a dialogue of its own.
            if self.sees is not Sees.BOUNDARIES:
                assert found == fed.retrieve(same)
                assert watched.account() == fed.account()
            assert bool(found.shown & {TURNS, TURNS + 1}) is self.finds_exchanges

    def test_truth_and_the_names_of_questions_play_no_part(self) -> None:
        """Accessing truth that the system has not declared to see raises an error."""
        if self.sees is Sees.EVIDENCE:
            pytest.skip("the system declares to see the evidence, by the name of a question")
        with self._fed() as system:
            found = system.retrieve(ASKED)
            assert system.retrieve(replace(ASKED, id="another")) == found
            system.observe(exchange(TURNS))
            system.views(ASKED)
            system.account()

    def test_a_question_needs_no_choices(self) -> None:
        """A question without options works like any other."""
        with self._fed() as system:
            found = system.retrieve(replace(ASKED, options=None))
            assert found.shown <= ALL

    def test_limits_are_kept_and_used_while_exchanges_come_in(self) -> None:
        """A context is not longer than allowed, and not much shorter."""
        with self._fed(short=True) as system:
            found = _answers(system)
            for number in range(TURNS, TURNS + 40, 2):
                pair = exchange(number)
                system.observe(pair)
                found.append(system.retrieve(ask(pair.turns[0].text)))
        lengths = [tokens.by_words(one.context) for one in found]
        if self.most_units is not None:
            assert max(len(one.units) for one in found) <= self.most_units
        if self.most_tokens is not None:
            assert self.most_tokens / 2 <= max(lengths) <= self.most_tokens

    @contextmanager
    def _opened(self, *, short: bool = False) -> Iterator[System]:
        tools = Tools(
            embedder=WordEmbedder(),
            truth=TRUTH if self.sees is Sees.EVIDENCE else HiddenTruth(),
            dialogues=DIALOGUES if self.sees is Sees.BOUNDARIES else HiddenDialogues(),
        )
        system = self.open_short(tools) if short else self.open_system(tools)
        try:
            yield system
        finally:
            system.close()

    @contextmanager
    def _fed(self, *, short: bool = False) -> Iterator[System]:
        with self._opened(short=short) as system:
            system.ingest(THREAD)
            yield system


def _answers(system: System) -> list[Retrieved]:
    return [system.retrieve(asked) for asked in REQUESTS]
