"""Packages: a flat thread, its questions, and the origin of every turn."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from pydantic import ConfigDict, with_config

from tsim.toolkit import tokens

# The judge of questions that name none.
LETTER = "letter"
# How the parts of a package are read from files.
FILED = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


@with_config(FILED)
@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTurn:
    """A turn of the thread: everything that a system sees.

    Attributes:
        id: Its place in the thread.
        role: The speaker.
        text: What was said.
        at: When it was said, in seconds since the epoch, if the data set has times.
    """

    id: int
    role: str
    text: str
    at: float | None = None


@with_config(FILED)
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about the thread. Fields that a data set does not provide are None or empty.

    Attributes:
        id: Unique within the data set.
        question: The text of the question.
        evidence: Ids of the turns that determine the answer.
        quotes: What determines it in each of these turns, word for word; none if it is not marked,
            and then all of the turn counts.
        options: The options by letter; None if the answer is free text.
        answer: The correct answer: a letter if there are options, otherwise a text.
        grader: The judge that grades replies; see `scaleqa.judges`.
        at: When it is asked, in seconds since the epoch, if the data set has times.
        domain: The domain, or the data set's own type of question.
        split: The split of the data set.
        stress: Labels for what makes the question hard, the primary one first.
        reasoning: Why the answer is correct.
    """

    id: str
    question: str
    options: Mapping[str, str] | None = None
    answer: str | None = None
    evidence: tuple[int, ...]
    quotes: tuple[str, ...] = ()
    domain: str | None = None
    split: str | None = None
    stress: tuple[str, ...] = ()
    reasoning: str | None = None
    grader: str = LETTER
    at: float | None = None


@with_config(FILED)
@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A dialogue and the ids of its turns in the thread."""

    source: str
    turns: tuple[int, ...]


# Without slots, because the hash is computed once: a run checks it for every system and package.
@dataclass(frozen=True, kw_only=True)
class Package:
    """One thread with its questions.

    Attributes:
        name: The name of its directory.
        stream: The thread.
        questions: The questions, in the order they are asked.
        truth: The dialogues that questions are about.
        noise: The dialogues that fill the thread.
        settings: How the package was built.
    """

    name: str
    stream: tuple[StreamTurn, ...]
    questions: tuple[Question, ...]
    truth: tuple[Block, ...]
    noise: tuple[Block, ...]
    settings: Mapping[str, Any]

    @property
    def dialogues(self) -> tuple[tuple[int, ...], ...]:
        """The turns of every dialogue, truth and noise, ordered by first turn."""
        return tuple(sorted(block.turns for block in (*self.truth, *self.noise)))

    @cached_property
    def sha256(self) -> str:
        """A hash of the thread and the questions."""
        said = [
            [turn.role, turn.text] if turn.at is None else [turn.role, turn.text, turn.at]
            for turn in self.stream
        ]
        asked = [described(question) for question in self.questions]
        return hashlib.sha256(json.dumps([said, asked]).encode()).hexdigest()

    @property
    def stats(self) -> dict[str, Any]:
        """Counts of turns, tokens, questions and dialogues."""
        words = [len(turn.text.split()) for turn in self.stream]
        own = {turn for block in self.truth for turn in block.turns}
        truth = sum(words[turn] for turn in own)
        return {
            "turns": len(self.stream),
            "tokens": tokens.from_words(sum(words)),
            "truth_tokens": tokens.from_words(truth),
            "noise_tokens": tokens.from_words(sum(words) - truth),
            "queries": len(self.questions),
            "truth_dialogues": len(self.truth),
            "noise_dialogues": len(self.noise),
        }


def described(question: Question) -> dict[str, Any]:
    """Returns the fields of a question; defaults are omitted."""
    absent = {"grader": LETTER, "stress": (), "quotes": ()}
    return {
        name: value
        for name, value in asdict(question).items()
        if value is not None and absent.get(name) != value
    }
