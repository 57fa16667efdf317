"""LoCoMo as flat threads: one per conversation, with its questions and their evidence turns.

The file is `data/locomo10.json` of `snap-research/LoCoMo`. A system sees the turns of all sessions
in order, but no session boundaries or dates; names of speakers only if asked for.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from scaleqa.datasets.protocol import DataSetDeclaration
from scaleqa.datasets.published import read_published
from scaleqa.errors import DataError
from scaleqa.packages import ABSENT, Block, Package, Question, StreamTurn, graded_by

NAME = "locomo"
# The categories as the authors' evaluation treats them; 5 is adversarial: its questions are
# about things that were never said, and are left out unless asked for.
ADVERSARIAL = 5
CATEGORIES: Mapping[int, str] = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    ADVERSARIAL: "adversarial",
}
# The right answer to those, in the words of the authors' evaluation.
NEVER_SAID = "No information available"
SESSION = re.compile(r"session_(\d+)")
TURN_ID = re.compile(r"D\d+:\d+")


class PublishedTurn(BaseModel):
    """The fields of a published turn that are used."""

    model_config = ConfigDict(frozen=True)

    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


class PublishedQuestion(BaseModel):
    """The fields of a published question that are used."""

    model_config = ConfigDict(frozen=True)

    question: str = Field(min_length=1)
    answer: str | int | float | None = None
    evidence: tuple[str, ...] = ()
    category: int = Field(ge=1, le=ADVERSARIAL)


class Conversation(BaseModel):
    """A published conversation with its questions."""

    model_config = ConfigDict(frozen=True)

    sample_id: str = Field(min_length=1)
    conversation: dict[str, str | list[PublishedTurn]]
    qa: tuple[PublishedQuestion, ...]

    @property
    def sessions(self) -> list[tuple[str, list[PublishedTurn]]]:
        """The sessions by name, in chronological order, which is that of their numbers."""
        numbered = [
            (int(found[1]), name, turns)
            for name, turns in self.conversation.items()
            if (found := SESSION.fullmatch(name)) and isinstance(turns, list)
        ]
        return [(name, turns) for _, name, turns in sorted(numbered, key=lambda one: one[0])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a question's evidence strings refer to.

    Attributes:
        turns: The turns, in order.
        dropped: Strings without a turn id, and ids that no turn has.
    """

    turns: tuple[int, ...]
    dropped: tuple[str, ...]


def resolve(published: Sequence[str], places: Mapping[str, int]) -> Evidence:
    """Finds the turns of evidence strings, which may hold several ids: `D8:6; D9:17`.

    Ids are compared as published: `D30:05` is not read as `D30:5`.

    Args:
        published: The strings.
        places: The turn of each id.
    """
    turns: set[int] = set()
    dropped = []
    for one in published:
        ids = TURN_ID.findall(one)
        turns |= {places[name] for name in ids if name in places}
        dropped += [name for name in ids if name not in places] if ids else [one]
    return Evidence(turns=tuple(sorted(turns)), dropped=tuple(dropped))


@dataclass(frozen=True, slots=True, kw_only=True)
class LocomoOptions:
    """Which file is read."""

    file: Annotated[str, Field(description="The published locomo10.json, plain or .gz.")]
    names: Annotated[
        bool, Field(description="Roles are the speakers' names instead of user and model.")
    ] = False
    adversarial: Annotated[
        bool, Field(description="Also ask about things that were never said.")
    ] = False
    grader: Annotated[
        str | None, Field(description="Another judge of free answers than judge, such as f1.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Locomo:
    """One flat thread for each conversation."""

    options: LocomoOptions
    name: str = NAME

    def threads(self) -> list[Package]:
        """Compiles the threads.

        Raises:
            DataError: The file cannot be used.
        """
        path = Path(self.options.file)
        found, sha256 = read_published(
            path, TypeAdapter(tuple[Conversation, ...]), of="LoCoMo", files="locomo10.json"
        )
        if not found:
            raise DataError(f"{path} is not LoCoMo as published: it holds no conversation")
        names, adversarial = self.options.names, self.options.adversarial
        compiled = [
            compile_conversation(one, names=names, adversarial=adversarial) for one in found
        ]
        never_said = sum(q.category == ADVERSARIAL for one in found for q in one.qa)
        left_out = {
            "abstentions": 0 if adversarial else never_said,
            "unmarked": sum(one.unmarked for one in compiled),
            "evidence": [name for one in compiled for name in one.dropped],
        }
        settings: dict[str, object] = {
            "dataset": NAME,
            "records_sha256": sha256,
            "left_out": left_out,
        }
        if names:
            settings["names"] = True
        packages = [one.package(settings) for one in compiled if one.questions]
        return graded_by(packages, self.options.grader)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A conversation as a thread.

    Attributes:
        name: Its id.
        stream: The thread.
        sessions: Its sessions, as blocks.
        questions: The questions with evidence.
        unmarked: How many questions have none.
        dropped: What of their evidence could not be found.
    """

    name: str
    stream: tuple[StreamTurn, ...]
    sessions: tuple[Block, ...]
    questions: tuple[Question, ...]
    unmarked: int
    dropped: tuple[str, ...]

    def package(self, settings: Mapping[str, object]) -> Package:
        """Returns the package; sessions without evidence are its noise."""
        gold = {turn for question in self.questions for turn in question.evidence}
        return Package(
            name=self.name,
            stream=self.stream,
            questions=self.questions,
            truth=tuple(block for block in self.sessions if gold & {*block.turns}),
            noise=tuple(block for block in self.sessions if not gold & {*block.turns}),
            settings=settings,
        )


def compile_conversation(
    published: Conversation, *, names: bool, adversarial: bool = False
) -> Compiled:
    """Compiles a conversation.

    Args:
        published: The conversation.
        names: Roles are names, instead of user for the first speaker and model.
        adversarial: Whether questions about what was never said are asked as well.
    """
    stream: list[StreamTurn] = []
    sessions = []
    places: dict[str, int] = {}
    first: str | None = None
    for name, turns in published.sessions:
        start = len(stream)
        for turn in turns:
            first = first or turn.speaker
            places[turn.dia_id] = len(stream)
            part = "user" if turn.speaker == first else "model"
            role = turn.speaker if names else part
            stream.append(StreamTurn(id=len(stream), role=role, text=_text(turn)))
        if turns:
            sessions.append(Block(source=name, turns=tuple(range(start, len(stream)))))
    asked = [
        (number, one, resolve(one.evidence, places))
        for number, one in enumerate(published.qa, 1)
        if one.category != ADVERSARIAL
    ]
    never_said = [
        _never_said(f"{published.sample_id}:{number}", one.question)
        for number, one in enumerate(published.qa, 1)
        if one.category == ADVERSARIAL and adversarial
    ]
    return Compiled(
        name=published.sample_id,
        stream=tuple(stream),
        sessions=tuple(sessions),
        questions=tuple(
            Question(
                id=f"{published.sample_id}:{number}",
                question=one.question,
                answer=None if one.answer is None else str(one.answer),
                evidence=evidence.turns,
                domain=CATEGORIES[one.category],
                grader="judge",
            )
            for number, one, evidence in asked
            if evidence.turns
        )
        + tuple(never_said),
        unmarked=sum(not evidence.turns for _, _, evidence in asked),
        dropped=tuple(
            f"{published.sample_id} {name}" for _, _, evidence in asked for name in evidence.dropped
        ),
    )


def _never_said(name: str, question: str) -> Question:
    return Question(
        id=name,
        question=question,
        answer=NEVER_SAID,
        evidence=(),
        domain=CATEGORIES[ADVERSARIAL],
        stress=(ABSENT,),
        grader="judge",
    )


def _text(turn: PublishedTurn) -> str:
    """Returns the text, followed by the caption of a shared image as in the authors' code."""
    return f"{turn.text} [shares {turn.blip_caption}]" if turn.blip_caption else turn.text


DATASET = DataSetDeclaration(
    name=NAME,
    summary="LoCoMo as published, one flat thread per conversation",
    options=LocomoOptions,
    make=lambda options: Locomo(options=options),
    example="locomo:file=locomo10.json",
)
