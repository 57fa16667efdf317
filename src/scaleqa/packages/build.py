"""The builder: combines records and noise into flat threads of a target length.

*Full corpus*: if the selected records fit the target, all of them go into one thread, and noise
fills the rest. *Length-batched*: otherwise records are sorted by descending length, then id, and
each goes into the fullest batch that still has room; batches hold `truth_cap` × target, and noise
fills each. *Evidence only*: target 0 means the records without noise. Sequels, if requested, are
added on top. Asides take the place of records, in threads of one split each, because all facts of
a thread are about one user. Every random choice takes a seed that is recorded in the package.
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from scaleqa.errors import DataError
from scaleqa.noise import Dialogue
from scaleqa.packages.absent import ABSENT, check_halves, left_out
from scaleqa.packages.fill import Filler, fill_up
from scaleqa.packages.mix import blocks as mix_blocks
from scaleqa.packages.mix import braid as mix_braid
from scaleqa.packages.package import Block, Package, Question, StreamTurn
from scaleqa.packages.resume import resume
from scaleqa.packages.reword import reworded, second_wordings
from scaleqa.records import Aside, Case, Record, Sequel, Wording
from scaleqa.records.card import fingerprint
from scaleqa.records.sequels import problems

VERSION = 1
Mix = Literal["blocks", "braid"]
Words = Literal["own", "other"]


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
        wording: The questions in their own words, or only those with a second wording, in it.
        absent: Whether to leave out every second dialogue; its question is still asked.
        absent_seed: Seed for which dialogues are left out.
    """

    target: int
    truth_cap: float = 0.82
    noise_seed: int = 13
    mix_seed: int = 17
    mix: Mix = "blocks"
    sequels: bool = False
    wording: Words = "own"
    absent: bool = False
    absent_seed: int = 19


def build(
    records: Sequence[Case],
    noise: Sequence[Dialogue] | Filler,
    settings: BuildSettings,
    sequels: Sequence[Sequel] = (),
    wordings: Sequence[Wording] = (),
) -> list[Package]:
    """Builds packages.

    Args:
        records: The records to ask about, or asides.
        noise: The dialogues that fill the threads.
        settings: How threads are built.
        sequels: The available sequels, used if the settings ask for them.
        wordings: The available second wordings, used if the settings ask for them.

    Raises:
        DataError: A record does not fit a batch, there is too little noise (the message says how
            much is missing), or what the settings ask for cannot be combined or used.
    """
    if not records:
        raise DataError("there are no records to build from")
    if not 0 < settings.truth_cap <= 1:
        raise DataError(f"truth cap {settings.truth_cap} is not between 0 and 1")
    asides = _are_asides(records)
    _check_combination(settings, asides=asides)
    own = _own(sequels, records, settings) if settings.sequels else []
    words = second_wordings(wordings, records) if settings.wording == "other" else []
    regime, batches = _regime(records, settings)
    described = {
        "builder": VERSION,
        "regime": regime,
        **_described(settings),
        **({"asides": True} if asides else {}),
        "records_sha256": fingerprint(
            [*sorted(records, key=lambda record: record.id), *own, *words]
        ),
    }
    filler = noise if isinstance(noise, Filler) else Filler(noise=noise)
    packages = [
        _package(number, batch, filler, settings, described)
        for number, batch in enumerate(batches, 1)
    ]
    if own:
        return [resume(package, own, settings.mix_seed) for package in packages]
    packages = reworded(packages, words) if words else packages
    if settings.absent:
        check_halves(packages)
    return packages


def _are_asides(cases: Sequence[Case]) -> bool:
    kinds = {isinstance(case, Aside) for case in cases}
    if len(kinds) > 1:
        raise DataError("a thread asks about records or about asides, not about both")
    return kinds.pop()


def _check_combination(settings: BuildSettings, *, asides: bool) -> None:
    """Refuses settings that make no sense together."""
    other = settings.wording == "other"
    clashes = (
        (asides and settings.sequels, "asides have no sequels; leave out --sequels or --asides"),
        (asides and other, "asides have one wording; leave out --wording other or --asides"),
        (
            settings.sequels and other,
            "second wordings were not read together with sequels, which change what is asked "
            "about; leave out --sequels or --wording other",
        ),
        (
            settings.sequels and settings.absent,
            "a sequel cannot follow a dialogue that is left out; leave out --sequels or --absent",
        ),
    )
    for clash, problem in clashes:
        if clash:
            raise DataError(problem)


def _described(settings: BuildSettings) -> dict[str, Any]:
    """Returns the settings; those that came later are left out where they change nothing."""
    later = {
        "sequels": settings.sequels,
        "wording": settings.wording != "own",
        "absent": settings.absent,
        "absent_seed": settings.absent,
    }
    return {name: value for name, value in asdict(settings).items() if later.get(name, True)}


def _regime(cases: Sequence[Case], settings: BuildSettings) -> tuple[str, list[list[Case]]]:
    """Distributes records over threads; asides of different splits never share one."""
    ordered = sorted(cases, key=lambda case: (-case.tokens, case.id))
    users = sorted({case.split for case in cases}) if isinstance(cases[0], Aside) else [None]
    threads = [[case for case in ordered if user in (None, case.split)] for user in users]
    if settings.target == 0:
        return "evidence-only", threads
    if all(sum(case.tokens for case in some) <= settings.target for some in threads):
        return "full-corpus", threads
    return "length-batched", [batch for some in threads for batch in _batch(some, settings)]


def _own(
    sequels: Sequence[Sequel], records: Sequence[Case], settings: BuildSettings
) -> list[Sequel]:
    """Returns the sequels of the records, ordered by id."""
    if settings.mix != "blocks":
        raise DataError(
            f"sequels begin between two dialogues, and a {settings.mix} has no such place; leave "
            "out --sequels or --mix"
        )
    ids = {record.id for record in records}
    own = sorted((sequel for sequel in sequels if sequel.id in ids), key=lambda sequel: sequel.id)
    for where, problem in problems(own, [one for one in records if isinstance(one, Record)]):
        raise DataError(f"the sequel of {where}: {problem}; run: scaleqa data validate PATH")
    if not own:
        raise DataError(
            f"none of {len(sequels)} sequels follows one of the {len(records)} records; leave out "
            "--sequels, or choose other records"
        )
    return own


def _batch(ordered: Sequence[Case], settings: BuildSettings) -> list[list[Case]]:
    """Distributes records by best fit: each goes where it leaves the least room."""
    capacity = int(settings.truth_cap * settings.target)
    batches: list[list[Case]] = []
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
    cases: Sequence[Case],
    filler: Filler,
    settings: BuildSettings,
    described: dict[str, Any],
) -> Package:
    out = left_out(cases, settings.absent_seed) if settings.absent else frozenset()
    cases = sorted(cases, key=lambda case: case.id)
    records = [case for case in cases if case.id not in out]
    wanted = max(0, settings.target - sum(record.tokens for record in records))
    fill = fill_up(filler, wanted, settings.noise_seed, number) if settings.target else []
    dialogues = [[turn.content for turn in record.dialogue] for record in records]
    dialogues += [list(dialogue.turns) for dialogue in fill]
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
    sources = [record.id for record in records] + [dialogue.id for dialogue in fill]
    found = [
        Block(source=source, turns=tuple(turns))
        for source, turns in zip(sources, places, strict=True)
    ]
    placed = {record.id: turns for record, turns in zip(records, places, strict=False)}
    return Package(
        name=f"batch-{number:02d}",
        stream=tuple(stream),
        questions=tuple(_question(case, placed.get(case.id)) for case in cases),
        truth=tuple(found[: len(records)]),
        noise=tuple(found[len(records) :]),
        settings=described,
    )


def _question(case: Case, turns: Sequence[int] | None) -> Question:
    """Returns the question of a case, given its turns in the thread; None if it was left out."""
    labels = case.labels if turns is not None else (*case.labels, ABSENT)
    return Question(
        id=case.id,
        question=case.question,
        options=case.options.model_dump(),
        answer=case.answer,
        evidence=tuple(turns[index] for index in case.evidence) if turns is not None else (),
        domain=case.domain,
        split=case.split,
        stress=labels,
        reasoning=case.reasoning,
    )
