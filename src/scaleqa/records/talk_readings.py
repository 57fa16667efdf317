"""Blind readings of questions about lives, and what they decide.

A reader saw all sessions of a life and its questions, in random order and without the key. For each
question it named the answer, the turns that give it, other turns that would do, and whether the
question is clear. The raw readings ship with the records, also of questions that were left out.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from scaleqa.errors import DataError
from scaleqa.records.load import TALK_READINGS, files_beside, load_lines
from scaleqa.records.schema import Life, Place, TalkQuestion


class TalkReading(BaseModel):
    """One reader's judgement of one question about a life.

    Attributes:
        id: The id of the question.
        seal: The seal of the question and the life that were read.
        reader: A label of the reader's work.
        answer: The reader's answer.
        evidence: The smallest set of turns that gives the answer.
        alternatives: Turns that would do as well, alone or instead of an evidence turn.
        clear: Whether the question has exactly one answer.
        quotes: The words of each evidence turn that give the answer, if the reader was asked for
            them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    seal: str
    reader: str
    answer: str
    evidence: tuple[Place, ...]
    alternatives: tuple[Place, ...] = ()
    clear: bool
    quotes: tuple[str, ...] = ()

    def covers(self, question: TalkQuestion) -> bool:
        """Returns whether the reader named all evidence turns of the question."""
        return {*question.evidence} <= {*self.evidence, *self.alternatives}


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkOutcome:
    """What the readings of one question say.

    Attributes:
        clear: Whether every reader found it clear.
        covered: Whether every reader named all of its evidence.
    """

    clear: bool
    covered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkJudged:
    """The results of all readings.

    Attributes:
        readings: Number of readings.
        clear: Readings of a question that was found clear.
        released: Readings of a question that is released.
        exact: Of these, readings that named exactly its evidence.
    """

    readings: int
    clear: int
    released: int
    exact: int


def shipped_talk_readings() -> list[TalkReading]:
    """Returns all readings of questions about lives, including of those left out."""
    return load_lines(files_beside(None, TALK_READINGS), TalkReading)


def seal_of_talk(life: Life, question: TalkQuestion) -> str:
    """Returns the hash of what a reader judged: the question and every turn of the life."""
    said = [[[turn.speaker, turn.text] for turn in some] for some in life.sessions]
    return hashlib.sha256(json.dumps([question.question, said]).encode()).hexdigest()


def talk_outcomes(readings: Iterable[TalkReading], lives: Iterable[Life]) -> dict[str, TalkOutcome]:
    """Returns what readings say about each question that has one, by id.

    Raises:
        DataError: A question or its life was changed after it was read.
    """
    asked = {question.id: (life, question) for life in lives for question in life.questions}
    by_id: dict[str, list[TalkReading]] = {}
    for reading in readings:
        if reading.id not in asked:
            continue
        if reading.seal != seal_of_talk(*asked[reading.id]):
            raise DataError(
                f"{reading.id} or its life is not what {reading.reader} read; have it read again"
            )
        by_id.setdefault(reading.id, []).append(reading)
    return {
        name: TalkOutcome(
            clear=all(reading.clear for reading in some),
            covered=all(reading.covers(asked[name][1]) for reading in some),
        )
        for name, some in by_id.items()
    }


def judge_talk(readings: Sequence[TalkReading], lives: Iterable[Life]) -> TalkJudged | None:
    """Counts what readers found; None if nothing was read.

    Args:
        readings: All readings.
        lives: The released lives.
    """
    if not readings:
        return None
    key = {question.id: {*question.evidence} for life in lives for question in life.questions}
    released = [reading for reading in readings if reading.id in key]
    return TalkJudged(
        readings=len(readings),
        clear=sum(reading.clear for reading in readings),
        released=len(released),
        exact=sum({*reading.evidence} == key[reading.id] for reading in released),
    )
