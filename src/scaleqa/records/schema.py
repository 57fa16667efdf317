"""The schema of records and of what ships beside them: sequels, second wordings, asides, talk."""

import re
from collections.abc import Sequence
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tsim.toolkit import tokens

SPLITS = ("s1", "s2")
DOMAINS = (
    "CS-Software",
    "Network-Hardware",
    "Finance",
    "Legal",
    "Biomed",
    "Engineering",
    "Biz-Ops",
    "Social-Personal",
    "Game-Novel",
    "Daily-Life",
)
# The domain of asides; it counts as the eleventh when letters are drawn.
ASIDE: Final = "Aside"
LETTERS = ("A", "B", "C", "D")
CELL = 150
# A further split, which breaks habits of the first two. It is smaller, and used only by name.
THIRD: Final = "s3"
CELLS: Final = {**dict.fromkeys(SPLITS, CELL), THIRD: 50}

Letter = Literal["A", "B", "C", "D"]
Kind = Literal[
    "preference",
    "person",
    "date",
    "place",
    "health",
    "work",
    "plan",
    "setup",
    "change",
    "possession",
]
StressLabel = Literal["state_overwrite", "long_range_bridge", "constraint_trap"]
TalkKind = Literal["friends", "assistant", "answers"]
TalkWording = Literal["same", "plain", "other"]
ID = re.compile(r"(?P<split>[^:]+):(?P<domain>.+)-(?P<number>[0-9]{3,9})")
LIFE_ID = re.compile(r"(?P<split>[^:]+):Talk-(?P<number>[0-9]{2,9})")
ASSISTANT_SPEAKERS = ("user", "model")
# A session of a life and a turn in it, both counted from 0.
Place = tuple[int, int]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class DialogueTurn(_Strict):
    """One turn of a record's dialogue."""

    role: Literal["user", "model"]
    content: str = Field(min_length=1)


class Options(_Strict):
    """The four options."""

    A: str = Field(min_length=1)
    B: str = Field(min_length=1)
    C: str = Field(min_length=1)
    D: str = Field(min_length=1)

    def as_list(self) -> list[str]:
        """Returns the options in order."""
        return [self.A, self.B, self.C, self.D]


class Stress(_Strict):
    """Labels for what makes a record hard."""

    labels: list[StressLabel] = Field(min_length=1)
    primary: StressLabel


class Case(_Strict):
    """A dialogue, and a later question whose answer depends on it: a record or an aside.

    Attributes:
        id: `split:Domain-NNN`.
        split: The split, one of two.
        domain: The domain.
        dialogue: Alternating turns, the user first.
        question: An ordinary request.
        options: The four options.
        answer: The letter of the only correct option.
        evidence: Indices of the smallest set of turns that determines the answer.
        reasoning: Which local fact applies, and why the answer follows from it.
    """

    id: str
    split: str
    domain: str
    dialogue: list[DialogueTurn] = Field(min_length=1)
    question: str = Field(min_length=1)
    options: Options
    answer: Letter
    evidence: list[int] = Field(min_length=1)
    reasoning: str = Field(min_length=1)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        match = ID.fullmatch(self.id)
        if not match:
            raise ValueError(f"id {self.id!r} is not split:Domain-NNN")
        if (match["split"], match["domain"]) != (self.split, self.domain):
            raise ValueError(f"id {self.id!r} does not name {self.split} and {self.domain}")
        _alternate(self.dialogue)
        _ascending("evidence", self.evidence, len(self.dialogue))
        if len({option.strip().lower() for option in self.options.as_list()}) != len(LETTERS):
            raise ValueError("two options are the same")
        return self

    @property
    def cell(self) -> str:
        """The split and domain, as `split:domain`."""
        return f"{self.split}:{self.domain}"

    @property
    def evidence_turns(self) -> list[str]:
        """The texts of the evidence turns."""
        return [self.dialogue[index].content for index in self.evidence]

    @property
    def text(self) -> str:
        """The dialogue as one text."""
        return _joined(self.dialogue)

    @property
    def tokens(self) -> int:
        """The length of the dialogue in benchmark tokens."""
        return tokens.from_words(sum(len(turn.content.split()) for turn in self.dialogue))

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels for what makes the question hard, the primary one first."""
        return ()

    def option(self, letter: str) -> str:
        """Returns the option with the given letter."""
        return self.options.as_list()[LETTERS.index(letter)]


class Record(Case):
    """A dialogue in which a local rule becomes binding, and a request that depends on it.

    Attributes:
        stress: Labels for what makes the record hard.
    """

    stress: Stress

    @model_validator(mode="after")
    def _is_labelled(self) -> Self:
        if self.stress.primary not in self.stress.labels:
            raise ValueError("the primary stress label is not among the labels")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The stress labels, the primary one first."""
        others = [label for label in self.stress.labels if label != self.stress.primary]
        return (self.stress.primary, *others)


class Aside(Case):
    """A fact that the user mentions in passing, and a later question that depends on it.

    Attributes:
        domain: Always `Aside`.
        evidence: The index of the user's turn that holds the fact.
        kind: What the fact is about.
        fact: The part of that turn that states the fact.
        inference: Whether the answer follows only by an everyday inference.
    """

    domain: Literal["Aside"] = ASIDE
    evidence: list[int] = Field(min_length=1, max_length=1)
    kind: Kind
    fact: str = Field(min_length=1)
    inference: bool

    @model_validator(mode="after")
    def _is_said_by_the_user(self) -> Self:
        turn = self.dialogue[self.evidence[0]]
        if turn.role != "user":
            raise ValueError(f"evidence {self.evidence} is not a turn of the user")
        if self.fact not in turn.content:
            raise ValueError("the fact is not a part of the evidence turn")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The kind of the fact, and whether it is asked for directly."""
        return self.kind, "inference" if self.inference else "restated"


class Wording(_Strict):
    """A record's question in other words, as people return to a matter.

    Attributes:
        id: The record's id.
        question: The same request without the names, numbers and rare words of the dialogue.
    """

    id: str
    question: str = Field(min_length=1)


class Sequel(_Strict):
    """A later dialogue after which another option of a record is the only correct one.

    Attributes:
        id: The record's id.
        named: Whether it mentions the name used in the record's question.
        dialogue: Three to six alternating turns, the user first.
        answer: The letter that is correct after the sequel.
        evidence: Indices of the smallest set of its turns that states the change.
        keeps: Indices of the record's turns that are still needed.
        reasoning: What changed, and why the new answer follows.
    """

    id: str
    named: bool
    dialogue: list[DialogueTurn] = Field(min_length=3, max_length=6)
    answer: Letter
    evidence: list[int] = Field(min_length=1)
    keeps: list[int]
    reasoning: str = Field(min_length=1)

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        _alternate(self.dialogue)
        _ascending("evidence", self.evidence, len(self.dialogue))
        return self

    @property
    def evidence_turns(self) -> list[str]:
        """The texts that state the change."""
        return [self.dialogue[index].content for index in self.evidence]

    @property
    def text(self) -> str:
        """The dialogue as one text."""
        return _joined(self.dialogue)


class TalkTurn(_Strict):
    """One turn of a life."""

    speaker: str = Field(min_length=1)
    text: str = Field(min_length=1)


class TalkQuestion(_Strict):
    """A question about a life.

    Attributes:
        id: The id of the life, and a number: `split:Talk-NN-NN`.
        question: The question. About friends it is asked by a third person, about an assistant's
            conversations by the user.
        answer: The answer, as free text.
        evidence: The smallest set of turns that gives the answer.
        wording: `same` if the question shares several content words with each evidence turn,
            `plain` for ordinary words, `other` if it shares none; the speakers' names do not count.
        quotes: What gives the answer in each evidence turn, word for word, where turns are long.
            Wordings are compared with these instead of whole turns.
    """

    id: str
    question: str = Field(min_length=1)
    answer: str = Field(min_length=1)
    evidence: list[Place] = Field(min_length=1)
    wording: TalkWording
    quotes: list[str] = []

    @property
    def domain(self) -> str:
        """The number of evidence turns and the wording: `one plain`, `several other` and so on."""
        return f"{'one' if len(self.evidence) == 1 else 'several'} {self.wording}"


class Life(_Strict):
    """Everyday conversations of two speakers over months, and questions about them.

    Attributes:
        id: `split:Talk-NN`.
        split: The split, one of two.
        kind: Two people who know each other, a person and an assistant, or the same with long
            answers, which most questions are about.
        speakers: The two speakers, the one who speaks first in front.
        sessions: The conversations in chronological order.
        questions: The questions.
    """

    id: str
    split: str
    kind: TalkKind
    speakers: tuple[str, str]
    sessions: list[list[TalkTurn]] = Field(min_length=1)
    questions: list[TalkQuestion] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        match = LIFE_ID.fullmatch(self.id)
        if not match:
            raise ValueError(f"id {self.id!r} is not split:Talk-NN")
        if match["split"] != self.split:
            raise ValueError(f"id {self.id!r} does not name {self.split}")
        self._check_speakers()
        for question in self.questions:
            if not re.fullmatch(re.escape(self.id) + r"-\d{2,}", question.id):
                raise ValueError(f"question id {question.id!r} is not {self.id}-NN")
            self._check_evidence(question)
        return self

    def _check_speakers(self) -> None:
        if not all(self.sessions):
            raise ValueError("a session has no turns")
        said = list(dict.fromkeys(turn.speaker for some in self.sessions for turn in some))
        if said != [*self.speakers]:
            raise ValueError(
                f"{', '.join(said)} speak, in this order; speakers are {', '.join(self.speakers)}"
            )
        if self.kind != "friends" and self.speakers != ASSISTANT_SPEAKERS:
            raise ValueError(f"speakers of kind {self.kind} are {' and '.join(ASSISTANT_SPEAKERS)}")

    def _check_evidence(self, question: TalkQuestion) -> None:
        if question.evidence != sorted({*question.evidence}):
            raise ValueError(f"evidence {question.evidence} of {question.id} is not ascending")
        for session, turn in question.evidence:
            if not (0 <= session < len(self.sessions) and 0 <= turn < len(self.sessions[session])):
                raise ValueError(f"evidence {[session, turn]} of {question.id} does not exist")
        if not question.quotes:
            return
        if len(question.quotes) != len(question.evidence):
            raise ValueError(
                f"{question.id} has {len(question.evidence)} evidence turns and "
                f"{len(question.quotes)} quotes, expected one for each"
            )
        for text, quote in zip(self.evidence_turns(question), question.quotes, strict=True):
            if text.count(quote) != 1:
                raise ValueError(
                    f"the quote {quote!r} of {question.id} occurs {text.count(quote)} times in its "
                    "evidence turn, expected once"
                )

    @property
    def number(self) -> int:
        """The number in the id."""
        return int(self.id.rpartition("-")[2])

    @property
    def tokens(self) -> int:
        """The length of all sessions in benchmark tokens."""
        return tokens.from_words(
            sum(len(turn.text.split()) for some in self.sessions for turn in some)
        )

    def evidence_turns(self, question: TalkQuestion) -> list[str]:
        """Returns the texts of the evidence turns of a question."""
        return [self.sessions[session][turn].text for session, turn in question.evidence]


def _alternate(dialogue: Sequence[DialogueTurn]) -> None:
    roles = [turn.role for turn in dialogue]
    if roles != [("user", "model")[n % 2] for n in range(len(roles))]:
        raise ValueError("roles do not alternate, starting with the user")


def _ascending(name: str, indices: list[int], turns: int) -> None:
    if indices != sorted(set(indices)):
        raise ValueError(f"{name} {indices} is not ascending")
    if not 0 <= indices[0] <= indices[-1] < turns:
        raise ValueError(f"{name} {indices} is outside the {turns} turns")


def _joined(dialogue: Sequence[DialogueTurn]) -> str:
    return "\n".join(turn.content for turn in dialogue)
