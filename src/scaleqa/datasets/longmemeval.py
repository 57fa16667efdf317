"""LongMemEval as flat threads: one per question, with its evidence turns.

Two published forms are supported. The S and M forms have a history per question, which is used
unchanged. The oracle form has only the sessions with the evidence; a history is compiled by adding
sessions of other questions. In both cases a system sees turns, but no session boundaries.
"""

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from scaleqa.datasets.protocol import DataSetDeclaration
from scaleqa.datasets.published import read_published
from scaleqa.errors import DataError
from scaleqa.lengths import parse_target
from scaleqa.noise import Dialogue, Pool, load_pool
from scaleqa.packages import ABSENT, Block, Package, Question, StreamTurn
from tsim.toolkit import tokens

# Suffix of questions that cannot be answered from their history.
ABSTENTION = "_abs"
NAME = "longmemeval"
DAY = 86_400.0
JUDGE = "judge"


class PublishedTurn(BaseModel):
    """A turn as published."""

    model_config = ConfigDict(frozen=True)

    role: Literal["user", "assistant"]
    content: str
    has_answer: bool = False


class PublishedQuestion(BaseModel):
    """The fields of a published question that are used."""

    model_config = ConfigDict(frozen=True)

    question_id: str = Field(min_length=1)
    question_type: str
    question: str = Field(min_length=1)
    answer: str | int | float | None = None
    question_date: str | None = None
    haystack_dates: list[str]
    haystack_session_ids: list[str]
    haystack_sessions: list[list[PublishedTurn]]
    answer_session_ids: list[str]

    @model_validator(mode="after")
    def _aligned(self) -> "PublishedQuestion":
        counts = {
            len(self.haystack_sessions),
            len(self.haystack_dates),
            len(self.haystack_session_ids),
        }
        if len(counts) > 1:
            raise ValueError("haystack_sessions, _dates and _session_ids differ in length")
        return self

    @property
    def marked(self) -> bool:
        """Whether any turn is marked as evidence."""
        return any(turn.has_answer for session in self.haystack_sessions for turn in session)

    @property
    def abstention(self) -> bool:
        """Whether the history does not answer it, so that saying so is the right answer."""
        return self.question_id.endswith(ABSTENTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A file of questions.

    Attributes:
        questions: All questions.
        sha256: Hash of the uncompressed JSON.
        oracle: Whether histories contain only the sessions with the evidence.
    """

    questions: tuple[PublishedQuestion, ...]
    sha256: str
    oracle: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The questions that are asked.

    Attributes:
        questions: The questions, in file order.
        abstentions: Number left out because their history does not answer them.
        unmarked: Number left out because no turn is marked as evidence.
    """

    questions: tuple[PublishedQuestion, ...]
    abstentions: int
    unmarked: int


Session: TypeAlias = Sequence[PublishedTurn]


def load_release(path: Path) -> Release:
    """Reads a file in its published format, plain or gzipped.

    Raises:
        DataError: The file is missing or has another format.
    """
    questions, sha256 = read_published(
        path,
        TypeAdapter(tuple[PublishedQuestion, ...]),
        of="LongMemEval",
        files="longmemeval_s.json or longmemeval_oracle.json",
    )
    names = Counter(question.question_id for question in questions)
    twice = sorted(name for name, times in names.items() if times > 1)
    if twice or not names:
        found = f"question {twice[0]} is there twice" if twice else "it holds no question"
        raise DataError(f"{path} is not LongMemEval as published: {found}")
    oracle = all({*q.haystack_session_ids} <= {*q.answer_session_ids} for q in questions)
    return Release(questions=questions, sha256=sha256, oracle=oracle)


def choose(
    questions: Sequence[PublishedQuestion],
    count: int | None,
    seed: int,
    *,
    abstention: bool = False,
) -> Chosen:
    """Drops questions that cannot be measured, and draws `count` of the rest if given.

    Args:
        questions: All questions.
        count: How many to draw; None for all.
        seed: Seed of the draw.
        abstention: Whether questions that their history does not answer are kept.

    Raises:
        DataError: No question with marked evidence is left.
    """
    answerable = [q for q in questions if not q.abstention]
    marked = [question for question in answerable if question.marked]
    if not marked:
        raise DataError(
            f"none of {len(questions)} questions has a turn marked has_answer; without marks "
            "there is no evidence to look for"
        )
    drawn = [q for q in questions if q.abstention or q.marked] if abstention else marked
    if count is not None and count < len(drawn):
        lots = sorted(drawn, key=lambda q: _lot(seed, q.question_id))[:count]
        kept = {question.question_id for question in lots}
        drawn = [question for question in drawn if question.question_id in kept]
    return Chosen(
        questions=tuple(drawn),
        abstentions=0 if abstention else len(questions) - len(answerable),
        unmarked=len(answerable) - len(marked),
    )


def compile_threads(  # noqa: PLR0913  # one argument for each way to compile
    release: Release,
    questions: Sequence[PublishedQuestion],
    *,
    target: int,
    seed: int,
    dates: bool = False,
    grader: str = JUDGE,
    share: int = 1,
    fill: Pool | None = None,
) -> list[Package]:
    """Builds a thread for each question, or for several.

    Args:
        release: The file, which provides the other sessions.
        questions: The questions to use.
        target: Maximum tokens of a history compiled from the oracle form, unless the question's own
            sessions have more. Published histories are used unchanged.
        seed: Seed for choosing and placing the other sessions.
        dates: Whether turns and questions have times.
        grader: The judge that grades answers.
        share: How many questions share a compiled history.
        fill: A pool that fills compiled histories instead of sessions of other questions.

    Raises:
        DataError: There are too few other sessions for the target, or histories cannot be shared or
            filled.
    """
    if fill and not release.oracle:
        raise DataError(
            "histories as published are whole; only those that are compiled from the oracle form "
            "can be filled with other dialogues, so leave out noise"
        )
    if share > 1 and (dates or not release.oracle):
        raise DataError(
            "only histories that are compiled from the oracle form can be shared, and without "
            "dates, since dates of different questions contradict each other; use share=1"
        )
    pool = {}
    if release.oracle:
        pool = _filling(fill.dialogues) if fill else _pool(release.questions)
    packages = []
    for asked in _lots(questions, share, seed):
        sessions: list[tuple[str, Session]]
        sessions = _compiled(asked, pool, target, seed) if release.oracle else _own(asked)
        settings = {
            "dataset": NAME,
            "form": "oracle" if release.oracle else "histories",
            "target": target if release.oracle else None,
            "seed": seed,
            "records_sha256": release.sha256,
            **({"share": share} if share > 1 else {}),
            **({"noise_sha256": fill.report.sha256} if fill else {}),
        }
        package = _package(asked, sessions, settings, grader)
        packages.append(_dated(asked[0], package) if dates else package)
    return packages


def _lots(
    questions: Sequence[PublishedQuestion], share: int, seed: int
) -> Iterator[Sequence[PublishedQuestion]]:
    """Deals questions to threads: one each in file order, or lots of a mixed order."""
    if share > 1:
        questions = sorted(questions, key=lambda q: _lot(seed, q.question_id))
    for start in range(0, len(questions), share):
        yield questions[start : start + share]


def _own(questions: Iterable[PublishedQuestion]) -> list[tuple[str, Session]]:
    """Returns the sessions of questions by name, in file order."""
    return [
        one
        for question in questions
        for one in zip(question.haystack_session_ids, question.haystack_sessions, strict=True)
    ]


def _compiled(
    questions: Sequence[PublishedQuestion],
    pool: Mapping[str, tuple[str, Session]],
    target: int,
    seed: int,
) -> list[tuple[str, Session]]:
    """Places the sessions of questions, in date order, among sessions of other questions."""
    rng = random.Random(f"{seed}:{' '.join(question.question_id for question in questions)}")
    dates = [date for question in questions for date in question.haystack_dates]
    dated = zip(dates, _own(questions), strict=True)
    own: list[tuple[str, Session]] = [one for _, one in sorted(dated, key=lambda pair: pair[0])]
    if len(questions) > 1:
        own = [*{_fingerprint(session): (name, session) for name, session in own}.values()]
    names = {name for question in questions for name in question.haystack_session_ids}
    known = {_fingerprint(session) for _, session in own}
    others = [one for key, one in pool.items() if key not in known and one[0] not in names]
    rng.shuffle(others)
    words = sum(_words(session) for _, session in own)
    fill: list[tuple[str, Session]] = []
    for other in others:
        words += _words(other[1])
        if tokens.from_words(words) > target:
            break
        fill.append(other)
    if tokens.from_words(words) <= target:
        raise DataError(
            f"all sessions together come to {tokens.from_words(words):,} tokens, less than the "
            f"target of {target:,}; choose a lower target"
        )
    places = {*rng.sample(range(len(own) + len(fill)), len(own))}
    mine, theirs = iter(own), iter(fill)
    return [next(mine if n in places else theirs) for n in range(len(own) + len(fill))]


def _pool(questions: Iterable[PublishedQuestion]) -> dict[str, tuple[str, Session]]:
    """Returns every session once, even if it has several ids, ordered by id."""
    named = (
        (name, session)
        for question in questions
        for name, session in zip(
            question.haystack_session_ids, question.haystack_sessions, strict=True
        )
    )
    pool: dict[str, tuple[str, Session]] = {}
    for name, session in sorted(named, key=lambda pair: pair[0]):
        pool.setdefault(_fingerprint(session), (name, session))
    return pool


def _filling(dialogues: Iterable[Dialogue]) -> dict[str, tuple[str, Session]]:
    """Returns dialogues as sessions without evidence."""
    pool: dict[str, tuple[str, Session]] = {}
    for dialogue in dialogues:
        session = tuple(
            PublishedTurn(role="assistant" if place % 2 else "user", content=text)
            for place, text in enumerate(dialogue.turns)
        )
        pool.setdefault(_fingerprint(session), (dialogue.id, session))
    return pool


def _package(
    questions: Sequence[PublishedQuestion],
    sessions: Sequence[tuple[str, Session]],
    settings: Mapping[str, object],
    grader: str,
) -> Package:
    stream: list[StreamTurn] = []
    own: list[Block] = []
    others: list[Block] = []
    mine = {name for question in questions for name in question.haystack_session_ids}
    # By the content of a session: the turns that are there, by their place in the session.
    placed: dict[str, dict[int, int]] = {}
    for name, session in sessions:
        first = len(stream)
        here = placed.setdefault(_fingerprint(session), {})
        for place, turn in enumerate(session):
            if not turn.content.strip():
                continue
            here[place] = len(stream)
            role = "user" if turn.role == "user" else "model"
            stream.append(StreamTurn(id=len(stream), role=role, text=turn.content))
        block = Block(source=name, turns=tuple(range(first, len(stream))))
        (own if name in mine else others).append(block)
    name = questions[0].question_id
    return Package(
        name=name if len(questions) == 1 else f"{name}-and-{len(questions) - 1}",
        stream=tuple(stream),
        questions=tuple(_question(one, placed, grader) for one in questions),
        truth=tuple(own),
        noise=tuple(others),
        settings=settings,
    )


def _question(
    published: PublishedQuestion, placed: Mapping[str, Mapping[int, int]], grader: str
) -> Question:
    """Returns a question; marked turns of one that calls for abstention are no evidence."""
    marked = {
        placed[_fingerprint(session)][place]
        for session in published.haystack_sessions
        for place, turn in enumerate(session)
        if turn.has_answer and turn.content.strip() and not published.abstention
    }
    return Question(
        id=published.question_id,
        question=published.question,
        answer=None if published.answer is None else str(published.answer),
        evidence=tuple(sorted(marked)),
        domain=published.question_type,
        stress=(ABSENT,) if published.abstention else (),
        grader=grader,
    )


def _dated(question: PublishedQuestion, package: Package) -> Package:
    """Adds times: every turn of a session has that of the session.

    Sessions of other questions have no date in this history. Theirs are spread evenly between those
    of the question's own sessions around them, or up to the time of the question; before the first
    they are a day apart.

    Raises:
        DataError: The question has no date, or a date cannot be read.
    """
    if question.question_date is None:
        raise DataError(f"question {question.question_id} has no question_date; use dates=false")
    known = dict(zip(question.haystack_session_ids, question.haystack_dates, strict=True))
    blocks = sorted((*package.truth, *package.noise), key=lambda block: block.turns)
    at = {n: _seconds(known[b.source]) for n, b in enumerate(blocks) if b.source in known}
    asked, first, last = _seconds(question.question_date), min(at), max(at)
    at[-1] = at[first] - (first + 1) * DAY
    at[len(blocks)] = max(asked, at[last])
    times = np.interp(range(len(blocks)), sorted(at), [at[place] for place in sorted(at)])
    said = {turn: round(float(t)) for t, b in zip(times, blocks, strict=True) for turn in b.turns}
    return replace(
        package,
        stream=tuple(replace(turn, at=said[turn.id]) for turn in package.stream),
        questions=tuple(replace(one, at=asked) for one in package.questions),
        settings={**package.settings, "dates": True},
    )


def _seconds(date: str) -> float:
    """Returns a date such as "2023/05/30 (Tue) 01:50" in seconds; its time zone is taken as UTC."""
    try:
        found = datetime.strptime(re.sub(r"\(\w+\) ", "", date), "%Y/%m/%d %H:%M")  # noqa: DTZ007
    except ValueError:
        raise DataError(f"{date!r} is not a date such as '2023/05/30 (Tue) 01:50'") from None
    return found.replace(tzinfo=UTC).timestamp()


def _fingerprint(session: Session) -> str:
    """Hashes the content of a session, because some are published under two ids."""
    said = "\x00".join(f"{turn.role}\x01{turn.content}" for turn in session)
    return hashlib.sha256(said.encode()).hexdigest()


def _words(session: Session) -> int:
    return sum(len(turn.content.split()) for turn in session)


def _lot(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class LongMemEvalOptions:
    """Which questions are used, and how histories are compiled."""

    file: Annotated[str, Field(description="The published file, plain or .gz.")]
    target: Annotated[
        str, Field(description="Tokens of a history compiled from the oracle form.")
    ] = "115k"
    subset: Annotated[
        int | None, Field(ge=1, description="Number of questions, drawn by the seed; nested.")
    ] = None
    seed: Annotated[int, Field(description="Seed for questions and other sessions.")] = 0
    dates: Annotated[
        bool, Field(description="Whether turns and questions have the times of their sessions.")
    ] = False
    abstention: Annotated[
        bool, Field(description="Also asks the _abs questions, as absent ones.")
    ] = False
    share: Annotated[
        int, Field(ge=1, description="Questions that share a history of the oracle form.")
    ] = 1
    noise: Annotated[
        str | None,
        Field(description="Dialogues that fill histories instead of others' sessions."),
    ] = None
    noise_format: Annotated[str, Field(description="Format of the noise file.")] = "authored"
    # Looked up when answers are graded, so that retrieval does not depend on installed judges.
    grader: Annotated[
        str,
        Field(min_length=1, description="Judge of answers; longmemeval: the authors' prompts."),
    ] = JUDGE


@dataclass(frozen=True, slots=True, kw_only=True)
class LongMemEval:
    """One flat thread for each question that has marked evidence or calls for abstention."""

    options: LongMemEvalOptions
    name: str = NAME

    def threads(self) -> list[Package]:
        """Compiles the threads.

        Raises:
            DataError: The file cannot be used, or there are too few sessions for the target.
        """
        given = self.options
        release = load_release(Path(given.file))
        chosen = choose(release.questions, given.subset, given.seed, abstention=given.abstention)
        packages = compile_threads(
            release,
            chosen.questions,
            target=parse_target(given.target),
            seed=given.seed,
            dates=given.dates,
            grader=given.grader,
            share=given.share,
            fill=load_pool(Path(given.noise), given.noise_format) if given.noise else None,
        )
        left_out = {"abstentions": chosen.abstentions, "unmarked": chosen.unmarked}
        more = {"abstention": True} if given.abstention else {}
        return [
            replace(package, settings={**package.settings, **more, "left_out": left_out})
            for package in packages
        ]


DATASET = DataSetDeclaration(
    name=NAME,
    summary="LongMemEval as published, one flat thread per question",
    options=LongMemEvalOptions,
    make=lambda options: LongMemEval(options=options),
    example="longmemeval:file=longmemeval_oracle.json.gz,subset=60",
)
