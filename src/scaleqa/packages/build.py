"""The builder: combines records and noise into flat threads of a target length.

*Full corpus*: if the selected records fit the target, all of them go into one thread, and noise
fills the rest. *Length-batched*: otherwise records are sorted by descending length, then id, and
each goes into the fullest batch that still has room; batches hold `truth_cap` × target, and noise
fills each. *Evidence only*: target 0 means the records without noise. Sequels, if requested, are
added on top. Every random choice takes a seed that is recorded in the package.
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from scaleqa.errors import DataError
from scaleqa.noise import Dialogue
from scaleqa.packages.mix import blocks as mix_blocks
from scaleqa.packages.mix import braid as mix_braid
from scaleqa.packages.package import Block, Package, Question, StreamTurn
from scaleqa.packages.resume import resume
from scaleqa.records import Record, Sequel
from scaleqa.records.card import fingerprint
from scaleqa.records.sequels import problems

VERSION = 1
Mix = Literal["blocks", "braid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSettings:
    """How threads are built.

    Attributes:
        target: Length in benchmark tokens; 0 for the records without noise.
        truth_cap: Largest share of the target that records may take when they are batched.
        noise_seed: Seed for the order of the noise.
        mix_seed: Seed for the order of dialogues in the thread.
        mix: Whole dialogues one after another, or interleaved turn by turn.
        sequels: Whether to add the sequels of records that have one.
    """

    target: int
    truth_cap: float = 0.82
    noise_seed: int = 13
    mix_seed: int = 17
    mix: Mix = "blocks"
    sequels: bool = False


def build(
    records: Sequence[Record],
    noise: Sequence[Dialogue],
    settings: BuildSettings,
    sequels: Sequence[Sequel] = (),
) -> list[Package]:
    """Builds packages.

    Args:
        records: The records to ask about.
        noise: The dialogues that fill the threads.
        settings: How threads are built.
        sequels: The available sequels, used if the settings ask for them.

    Raises:
        DataError: A record does not fit a batch, there is too little noise (the message says how
            much is missing), or sequels are requested and cannot be used.
    """
    if not records:
        raise DataError("there are no records to build from")
    if not 0 < settings.truth_cap <= 1:
        raise DataError(f"truth cap {settings.truth_cap} is not between 0 and 1")
    own = _own(sequels, records, settings) if settings.sequels else []
    ordered = sorted(records, key=lambda record: (-record.tokens, record.id))
    truth = sum(record.tokens for record in ordered)
    if settings.target == 0:
        regime, batches = "evidence-only", [ordered]
    elif truth <= settings.target:
        regime, batches = "full-corpus", [ordered]
    else:
        regime, batches = "length-batched", _batch(ordered, settings)
    described = {
        "builder": VERSION,
        "regime": regime,
        **{name: value for name, value in asdict(settings).items() if own or name != "sequels"},
        "records_sha256": fingerprint([*sorted(records, key=lambda record: record.id), *own]),
    }
    packages = [
        _package(number, batch, noise, settings, described)
        for number, batch in enumerate(batches, 1)
    ]
    return [resume(package, own, settings.mix_seed) for package in packages] if own else packages


def _own(
    sequels: Sequence[Sequel], records: Sequence[Record], settings: BuildSettings
) -> list[Sequel]:
    """Returns the sequels of the records, ordered by id."""
    if settings.mix != "blocks":
        raise DataError(
            f"sequels begin between two dialogues, and a {settings.mix} has no such place; leave "
            "out --sequels or --mix"
        )
    ids = {record.id for record in records}
    own = sorted((sequel for sequel in sequels if sequel.id in ids), key=lambda sequel: sequel.id)
    for where, problem in problems(own, records):
        raise DataError(f"the sequel of {where}: {problem}; run: scaleqa data validate PATH")
    if not own:
        raise DataError(
            f"none of {len(sequels)} sequels follows one of the {len(records)} records; leave out "
            "--sequels, or choose other records"
        )
    return own


def _batch(ordered: Sequence[Record], settings: BuildSettings) -> list[list[Record]]:
    """Distributes records by best fit: each goes where it leaves the least room."""
    capacity = int(settings.truth_cap * settings.target)
    batches: list[list[Record]] = []
    room: list[int] = []
    for record in ordered:
        size = record.tokens
        if size > capacity:
            raise DataError(
                f"{record.id} has {size} tokens, a batch holds {capacity}; choose a longer target"
            )
        fitting = [number for number, left in enumerate(room) if left >= size]
        if fitting:
            chosen = min(fitting, key=lambda number: (room[number], number))
        else:
            chosen = len(batches)
            batches.append([])
            room.append(capacity)
        batches[chosen].append(record)
        room[chosen] -= size
    return batches


def _package(
    number: int,
    records: Sequence[Record],
    noise: Sequence[Dialogue],
    settings: BuildSettings,
    described: dict[str, Any],
) -> Package:
    wanted = max(0, settings.target - sum(record.tokens for record in records))
    filler = _fill(noise, wanted, settings.noise_seed, number) if settings.target else []
    records = sorted(records, key=lambda record: record.id)
    dialogues = [[turn.content for turn in record.dialogue] for record in records]
    dialogues += [list(dialogue.turns) for dialogue in filler]
    rng = random.Random(f"mix:{settings.mix_seed}:{number}")
    order = (mix_braid if settings.mix == "braid" else mix_blocks)(
        [len(turns) for turns in dialogues], rng
    )
    places: list[list[int]] = [[] for _ in dialogues]
    stream = []
    for place, dialogue in enumerate(order):
        turn = len(places[dialogue])
        role = ("user", "model")[turn % 2]
        stream.append(StreamTurn(id=place, role=role, text=dialogues[dialogue][turn]))
        places[dialogue].append(place)
    sources = [record.id for record in records] + [dialogue.id for dialogue in filler]
    found = [
        Block(source=source, turns=tuple(turns))
        for source, turns in zip(sources, places, strict=True)
    ]
    return Package(
        name=f"batch-{number:02d}",
        stream=tuple(stream),
        questions=tuple(
            _question(record, turns) for record, turns in zip(records, places, strict=False)
        ),
        truth=tuple(found[: len(records)]),
        noise=tuple(found[len(records) :]),
        settings=described,
    )


def _fill(noise: Sequence[Dialogue], wanted: int, seed: int, batch: int) -> list[Dialogue]:
    """Takes noise in seeded order up to the target, never beyond it."""
    order = sorted(noise, key=lambda dialogue: dialogue.id)
    random.Random(f"noise:{seed}:{batch}").shuffle(order)
    chosen: list[Dialogue] = []
    left = wanted
    for dialogue in order:
        if dialogue.tokens <= left:
            chosen.append(dialogue)
            left -= dialogue.tokens
    smallest = min((dialogue.tokens for dialogue in order), default=0)
    if left > max(smallest, wanted // 100) and len(chosen) == len(order):
        have = sum(dialogue.tokens for dialogue in order)
        raise DataError(
            f"batch {batch} needs {wanted} tokens of noise and the pool has {have}: {left} are "
            "missing; give a larger pool with --noise, or choose a shorter target"
        )
    return chosen


def _question(record: Record, turns: Sequence[int]) -> Question:
    labels = [label for label in record.stress.labels if label != record.stress.primary]
    return Question(
        id=record.id,
        question=record.question,
        options=record.options.model_dump(),
        answer=record.answer,
        evidence=tuple(turns[index] for index in record.evidence),
        domain=record.domain,
        split=record.split,
        stress=(record.stress.primary, *labels),
        reasoning=record.reasoning,
    )
