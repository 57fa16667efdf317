"""Asides in eleven languages: facts that are told in passing, and questions in other words.

Each dialogue is about something else: a stain, a recipe, a letter. In its third turn the user says
one thing about themselves. Questions ask for it in the same language, or across languages: in
English about what was said in another language, and in the others about what was said in English.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from scaleqa.datasets.protocol import DataSetDeclaration
from scaleqa.datasets.shipping import read_lines
from scaleqa.errors import DataError
from scaleqa.packages import Block, Package, Question, StreamTurn, graded_by

NAME = "languages"
ENGLISH = "en"
ROLES = ("user", "model")

Asked: TypeAlias = Literal["same", "other"]


class Dialogue(BaseModel):
    """A dialogue with an aside.

    Attributes:
        id: Its language and number.
        language: An ISO 639-1 code.
        turns: Its turns, the user's first.
        evidence: The number of the turn with the aside, from 0.
        answer: The fact, in a few words.
        questions: The question by language.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    language: str
    turns: tuple[str, ...]
    evidence: int
    answer: str
    questions: Mapping[str, str]


def shipped() -> tuple[list[Dialogue], str]:
    """Returns the dialogues that ship with the package, and the SHA-256 of their file."""
    return read_lines("languages.jsonl", Dialogue)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguagesOptions:
    """Which dialogues are used, and in which language questions are asked."""

    language: Annotated[str | None, Field(description="Only this language, as en or de.")] = None
    asked: Annotated[
        Asked, Field(description="Questions in the same language, or across languages.")
    ] = "same"
    mixed: Annotated[
        bool, Field(description="One thread of all languages instead of one for each.")
    ] = False
    seed: Annotated[int, Field(description="Seed for the order of a mixed thread.")] = 23
    grader: Annotated[
        str | None, Field(description="Another judge of free answers than judge, such as f1.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Languages:
    """One flat thread for each language, or one with all."""

    options: LanguagesOptions
    name: str = NAME

    def threads(self) -> list[Package]:
        """Builds the threads.

        Raises:
            DataError: There is no such language.
        """
        given = self.options
        dialogues, sha256 = shipped()
        known = sorted({one.language for one in dialogues})
        if given.language not in (None, *known):
            raise DataError(
                f"there are no dialogues in {given.language!r}; use one of {', '.join(known)}"
            )
        settings = {
            "dataset": NAME,
            "records_sha256": sha256,
            "asked": given.asked,
            "mixed": given.mixed,
        }
        chosen = [one for one in dialogues if given.language in (None, one.language)]
        if given.mixed:
            random.Random(given.seed).shuffle(chosen)
            mixed = _thread("mixed", chosen, given.asked, settings | {"seed": given.seed})
            return graded_by([mixed], given.grader)
        found = [
            _thread(code, [one for one in chosen if one.language == code], given.asked, settings)
            for code in known
            if given.language in (None, code)
        ]
        return graded_by(found, given.grader)


def _thread(
    name: str, dialogues: Sequence[Dialogue], asked: Asked, settings: Mapping[str, object]
) -> Package:
    stream: list[StreamTurn] = []
    questions: list[Question] = []
    blocks = []
    for one in dialogues:
        first = len(stream)
        stream += [
            StreamTurn(id=first + n, role=ROLES[n % 2], text=text)
            for n, text in enumerate(one.turns)
        ]
        blocks.append(Block(source=one.id, turns=tuple(range(first, len(stream)))))
        questions += [
            Question(
                id=f"{one.id}-{code}",
                question=text,
                answer=one.answer,
                evidence=(first + one.evidence,),
                domain=f"{one.language} asked in {code}",
                grader="judge",
            )
            for code, text in one.questions.items()
            if (code == one.language) == (asked == "same")
        ]
    return Package(
        name=name,
        stream=tuple(stream),
        questions=tuple(questions),
        truth=tuple(blocks),
        noise=(),
        settings=settings,
    )


DATASET = DataSetDeclaration(
    name=NAME,
    summary="Facts told in passing in eleven languages, asked in the same or another language",
    options=LanguagesOptions,
    make=lambda options: Languages(options=options),
    example="languages:asked=other,mixed=true",
)
