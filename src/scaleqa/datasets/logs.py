"""Logs of kinds that our other data does not have, and questions about them.

A developer and a coding assistant, the channel of a small company, somebody who dictates to a voice
assistant, the manager of a hotel and an assistant; and, written later, the meetings of a workshop,
somebody who learns with an assistant, the letters of two sisters, friends who play by text. Half of
the questions may use the words of the log; the others share no content word with the turns that
answer them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from scaleqa.datasets.protocol import DataSetDeclaration
from scaleqa.datasets.shipping import read_lines
from scaleqa.errors import DataError
from scaleqa.packages import Block, Package, Question, StreamTurn, graded_by

NAME = "logs"
Wording: TypeAlias = Literal["same", "other"]


class Asked(BaseModel):
    """A question about a log.

    Attributes:
        id: The name of the log and a number.
        question: The text of the question.
        answer: What is right, in a few words.
        evidence: The numbers of the turns that decide it, from 0.
        quotes: What decides it in each of these turns, word for word.
        wording: Whether it may use the words of these turns.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str
    answer: str
    evidence: tuple[int, ...]
    quotes: tuple[str, ...]
    wording: Wording


class Log(BaseModel):
    """A log.

    Attributes:
        name: What kind of log it is.
        turns: Speaker and text of every turn.
        questions: What is asked about it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    turns: tuple[tuple[str, str], ...]
    questions: tuple[Asked, ...]


def shipped() -> tuple[list[Log], str]:
    """Returns the logs that ship with the package, and the SHA-256 of their file."""
    return read_lines("logs.jsonl", Log)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsOptions:
    """Which logs are used, and which questions are asked."""

    kind: Annotated[str | None, Field(description="Only this log, as coding or team.")] = None
    wording: Annotated[
        Wording | None, Field(description="Only questions that may use its words, or may not.")
    ] = None
    grader: Annotated[
        str | None, Field(description="Another judge of free answers than judge, such as f1.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """One flat thread for each log."""

    options: LogsOptions
    name: str = NAME

    def threads(self) -> list[Package]:
        """Builds the threads.

        Raises:
            DataError: There is no such log.
        """
        given = self.options
        logs, sha256 = shipped()
        known = [log.name for log in logs]
        if given.kind not in (None, *known):
            raise DataError(f"there is no log {given.kind!r}; use one of {', '.join(known)}")
        settings = {"dataset": NAME, "records_sha256": sha256, "wording": given.wording or "both"}
        found = [
            _thread(log, [q for q in log.questions if given.wording in (None, q.wording)], settings)
            for log in logs
            if given.kind in (None, log.name)
        ]
        return graded_by(found, given.grader)


def _thread(log: Log, asked: Sequence[Asked], settings: dict[str, str]) -> Package:
    stream = [StreamTurn(id=n, role=role, text=text) for n, (role, text) in enumerate(log.turns)]
    questions = [
        Question(
            id=one.id,
            question=one.question,
            answer=one.answer,
            evidence=one.evidence,
            quotes=one.quotes,
            domain=f"{log.name}, {one.wording} words",
            grader="judge",
        )
        for one in asked
    ]
    return Package(
        name=log.name,
        stream=tuple(stream),
        questions=tuple(questions),
        truth=(Block(source=log.name, turns=tuple(range(len(stream)))),),
        noise=(),
        settings=settings,
    )


DATASET = DataSetDeclaration(
    name=NAME,
    summary="Logs of eight kinds, from a coding assistant to the letters of two sisters",
    options=LogsOptions,
    make=lambda options: Logs(options=options),
    example="logs:kind=team,wording=other",
)
