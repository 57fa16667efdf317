"""Threads of talk: one per life, alone or among dialogues that nobody asks about."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scaleqa.errors import DataError
from scaleqa.packages.build import VERSION
from scaleqa.packages.fill import Filler, fill_up
from scaleqa.packages.package import Block, Package, Question, StreamTurn
from scaleqa.records import Life
from scaleqa.records.card import fingerprint
from scaleqa.records.schema import ASSISTANT_SPEAKERS

JUDGE = "judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkSettings:
    """How threads of talk are built.

    Attributes:
        target: Length in benchmark tokens; 0 for the life alone.
        noise_seed: Seed for which dialogues fill the thread.
        mix_seed: Seed for the places of the sessions among them.
    """

    target: int
    noise_seed: int = 13
    mix_seed: int = 17


def build_talk(lives: Sequence[Life], filler: Filler, settings: TalkSettings) -> list[Package]:
    """Builds one package per life, ordered by id.

    The thread of a life depends on the life, the filler and the settings, not on which other lives
    are chosen. Sessions keep their order.

    Args:
        lives: Lives of one kind.
        filler: The dialogues that fill the threads up to the target.
        settings: How threads are built.

    Raises:
        DataError: There are no lives, or of both kinds; friends have a target; a life is longer
            than the target; or there is too little filler.
    """
    kinds = {life.kind for life in lives}
    if len(kinds) != 1:
        found = " and ".join(sorted(kinds)) or "no life"
        raise DataError(f"threads of talk are built from lives of one kind; found {found}")
    (kind,) = kinds
    if kind == "friends" and settings.target:
        raise DataError(
            f"talk of friends takes no filler, because what fills threads are conversations with "
            f"an assistant; the target is {settings.target}, expected 0: give --target 0"
        )
    ordered = sorted(lives, key=lambda life: life.id)
    described = {
        "builder": VERSION,
        "regime": "life among noise" if settings.target else "life alone",
        "target": settings.target,
        "talk": kind,
        **(
            {"noise_seed": settings.noise_seed, "mix_seed": settings.mix_seed}
            if settings.target
            else {}
        ),
        "records_sha256": fingerprint(ordered),
    }
    return [_package(life, filler, settings, described) for life in ordered]


def roles(life: Life) -> Mapping[str, str]:
    """Returns the role of each speaker in the thread.

    Memories of two people are stored in both ways: with their names as roles, or with the roles of
    a user and a model. In lives of friends with an even number the roles are the speakers' names;
    in the others the first speaker is `user` and the second is `model`.
    """
    if life.kind == "friends" and life.number % 2 == 0:
        return {name: name for name in life.speakers}
    return dict(zip(life.speakers, ASSISTANT_SPEAKERS, strict=True))


def _package(
    life: Life, filler: Filler, settings: TalkSettings, described: Mapping[str, Any]
) -> Package:
    role = roles(life)
    sessions = [
        (f"{life.id}/{number}", [(role[turn.speaker], turn.text) for turn in turns])
        for number, turns in enumerate(life.sessions)
    ]
    noise = _noise(life, filler, settings) if settings.target else []
    rng = random.Random(f"talk:{settings.mix_seed}:{life.id}")
    rng.shuffle(noise)
    places = {*rng.sample(range(len(sessions) + len(noise)), len(sessions))}
    left, filling = iter(sessions), iter(noise)
    stream: list[StreamTurn] = []
    blocks = []
    for place in range(len(sessions) + len(noise)):
        source, turns = next(left if place in places else filling)
        first = len(stream)
        stream += [
            StreamTurn(id=first + n, role=who, text=text) for n, (who, text) in enumerate(turns)
        ]
        blocks.append(Block(source=source, turns=tuple(range(first, len(stream)))))
    truth = tuple(block for place, block in enumerate(blocks) if place in places)
    return Package(
        name=life.id.replace(":", "-"),
        stream=tuple(stream),
        questions=_questions(life, truth),
        truth=truth,
        noise=tuple(block for place, block in enumerate(blocks) if place not in places),
        settings=described,
    )


def _noise(
    life: Life, filler: Filler, settings: TalkSettings
) -> list[tuple[str, list[tuple[str, str]]]]:
    """Returns the source and the turns of the dialogues that fill the thread of a life."""
    if life.tokens > settings.target:
        raise DataError(
            f"{life.id} has {life.tokens} tokens, the target is {settings.target}; choose a longer "
            "target, or 0 for the life alone"
        )
    chosen = fill_up(filler, settings.target - life.tokens, settings.noise_seed, life.id)
    return [
        (one.id, [(ASSISTANT_SPEAKERS[n % 2], text) for n, text in enumerate(one.turns)])
        for one in chosen
    ]


def _questions(life: Life, sessions: Sequence[Block]) -> tuple[Question, ...]:
    """Returns the questions of a life, given its sessions in the thread."""
    return tuple(
        Question(
            id=question.id,
            question=question.question,
            answer=question.answer,
            evidence=tuple(sessions[session].turns[turn] for session, turn in question.evidence),
            quotes=tuple(question.quotes),
            domain=question.domain,
            split=life.split,
            grader=JUDGE,
        )
        for question in life.questions
    )
