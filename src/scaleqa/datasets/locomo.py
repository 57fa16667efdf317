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

from scaleqa.datasets.locomo_errors import Errata, Listed, Mend, load_errata
from scaleqa.datasets.protocol import DataSetDeclaration
from scaleqa.datasets.published import read_published
from scaleqa.errors import DataError
from scaleqa.packages import ABSENT, Block, Package, Question, StreamTurn, graded_by

NAME = "locomo"
# The categories as the authors' evaluation treats them; 5 is adversarial: its questions are
# about things that were never said, and are left out unless asked for.
CATEGORIES: Mapping[int, str] = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
ADVERSARIAL = 5
# The right answer to adversarial questions, in the words of the authors' evaluation.
NOT_MENTIONED = "Not mentioned in the conversation"
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
    """Which file is read, and which of its questions are asked."""

    file: Annotated[str, Field(description="The published locomo10.json, plain or .gz.")]
    names: Annotated[
        bool, Field(description="Roles are the speakers' names instead of user and model.")
    ] = False
    abstention: Annotated[
        bool, Field(description="Also asks adversarial questions, as absent ones.")
    ] = False
    grader: Annotated[
        str | None, Field(description="Another judge of free answers than judge, such as f1.")
    ] = None
    errors: Annotated[
        str | None, Field(description="A list of errors in the key: locomo-audit's errors.json.")
    ] = None
    mend: Annotated[
        Mend, Field(description="Listed questions are left out, or evidence and answer corrected.")
    ] = "drop"


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
        given = self.options
        found, sha256 = load_conversations(Path(given.file))
        errata = _errata(given.errors, found) if given.errors else None
        compiled = [
            compile_conversation(
                one,
                names=given.names,
                abstention=given.abstention,
                listed=errata.of(place) if errata else {},
                mend=given.mend,
            )
            for place, one in enumerate(found)
        ]
        adversarial = sum(q.category == ADVERSARIAL for one in found for q in one.qa)
        left_out: dict[str, object] = {
            "abstentions": 0 if given.abstention else adversarial,
            "unmarked": sum(one.unmarked for one in compiled),
            "evidence": [name for one in compiled for name in one.dropped],
        }
        settings: dict[str, object] = {
            "dataset": NAME,
            "records_sha256": sha256,
            "left_out": left_out,
        }
        if given.names:
            settings["names"] = True
        if given.abstention:
            settings["abstention"] = True
        if errata:
            settings["errors"] = {
                "sha256": errata.sha256,
                "mend": given.mend,
                "listed": errata.counts,
                "mended": sum(one.mended for one in compiled),
            }
        packages = [one.package(settings) for one in compiled if one.questions]
        return graded_by(packages, given.grader)


def load_conversations(path: Path) -> tuple[tuple[Conversation, ...], str]:
    """Reads the published file; returns its conversations and the hash of its content.

    Raises:
        DataError: The file is missing, has another format or holds nothing.
    """
    found, sha256 = read_published(
        path, TypeAdapter(tuple[Conversation, ...]), of="LoCoMo", files="locomo10.json"
    )
    if not found:
        raise DataError(f"{path} is not LoCoMo as published: it holds no conversation")
    return found, sha256


def _errata(file: str, found: Sequence[Conversation]) -> Errata:
    errata = load_errata(Path(file))
    asked = {
        (at, place): question.question
        for at, conversation in enumerate(found)
        for place, question in enumerate(conversation.qa)
    }
    errata.check(asked, Path(file))
    return errata


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
        mended: How many listed questions were left out or corrected.
    """

    name: str
    stream: tuple[StreamTurn, ...]
    sessions: tuple[Block, ...]
    questions: tuple[Question, ...]
    unmarked: int
    dropped: tuple[str, ...]
    mended: int = 0

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
    published: Conversation,
    *,
    names: bool,
    abstention: bool = False,
    listed: Mapping[int, Listed] | None = None,
    mend: Mend = "drop",
) -> Compiled:
    """Compiles a conversation.

    Args:
        published: The conversation.
        names: Whether roles are names; else they are user, for the first speaker, and model.
        abstention: Whether adversarial questions are asked.
        listed: Known errors of the key, by the place of the question.
        mend: Whether questions with errors are left out or corrected.
    """
    stream: list[StreamTurn] = []
    sessions = []
    places: dict[str, int] = {}
    role = Roles(names=names)
    for name, turns in published.sessions:
        start = len(stream)
        for turn in turns:
            places[turn.dia_id] = len(stream)
            said = StreamTurn(id=len(stream), role=role(turn.speaker), text=text_of(turn))
            stream.append(said)
        if turns:
            sessions.append(Block(source=name, turns=tuple(range(start, len(stream)))))
    errors = listed or {}
    considered = [
        (number, one, errors.get(number - 1)) for number, one in enumerate(published.qa, 1)
    ]
    asked = [
        (number, one, error, resolve(error.correct_evidence if error else one.evidence, places))
        for number, one, error in considered
        if one.category != ADVERSARIAL and not (error and mend == "drop")
    ]
    questions = {
        number: Question(
            id=f"{published.sample_id}:{number}",
            question=one.question,
            answer=_answer(error.correct_answer if error else one.answer),
            evidence=evidence.turns,
            domain=CATEGORIES[one.category],
            grader="judge",
        )
        for number, one, error, evidence in asked
        if evidence.turns
    }
    if abstention:
        questions |= {
            number: Question(
                id=f"{published.sample_id}:{number}",
                question=one.question,
                answer=NOT_MENTIONED,
                evidence=(),
                domain="adversarial",
                stress=(ABSENT,),
                grader="judge",
            )
            for number, one, _ in considered
            if one.category == ADVERSARIAL
        }
    return Compiled(
        name=published.sample_id,
        stream=tuple(stream),
        sessions=tuple(sessions),
        questions=tuple(questions[number] for number in sorted(questions)),
        unmarked=sum(not evidence.turns for *_, evidence in asked),
        dropped=tuple(
            f"{published.sample_id} {name}" for *_, evidence in asked for name in evidence.dropped
        ),
        mended=len(errors),
    )


class Roles:
    """Gives speakers their roles: their names, or user for whoever speaks first, and model."""

    def __init__(self, *, names: bool) -> None:
        """Starts before anybody has spoken."""
        self._names = names
        self._first: str | None = None

    def __call__(self, speaker: str) -> str:
        """Returns the role of a speaker."""
        self._first = self._first or speaker
        part = "user" if speaker == self._first else "model"
        return speaker if self._names else part


def _answer(published: str | float | None) -> str | None:
    return None if published is None else str(published)


def text_of(turn: PublishedTurn) -> str:
    """Returns the text, followed by the caption of a shared image as in the authors' code."""
    return f"{turn.text} [shares {turn.blip_caption}]" if turn.blip_caption else turn.text


DATASET = DataSetDeclaration(
    name=NAME,
    summary="LoCoMo as published, one flat thread per conversation",
    options=LocomoOptions,
    make=lambda options: Locomo(options=options),
    example="locomo:file=locomo10.json",
)
