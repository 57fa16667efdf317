"""Topics that resume: sequels are placed long after their records and change the correct answer.

The thread is first built without them; they are then inserted between its dialogues.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from scaleqa.packages.package import Block, Package, Question, StreamTurn
from scaleqa.records import Sequel

# Minimum distance in turns between the end of a record and the start of its sequel.
APART = 200
NAMED = "sequel_named"
UNNAMED = "sequel_unnamed"
# Sort key of a turn: original position, random order among sequels there, record id, turn number.
Key = tuple[int, float, str, int]


def resume(package: Package, sequels: Sequence[Sequel], seed: int) -> Package:
    """Inserts the sequels of a package's records into its thread.

    Each sequel starts between two dialogues, at least `APART` turns after the last turn of its
    record, or at the end of the thread if there is no such place. A question whose record has a
    sequel gets the sequel's answer, evidence and reasoning. In everything else only turn ids
    change.

    Args:
        package: A package built with `mix=blocks`.
        sequels: At most one sequel per record; sequels of other records are ignored.
        seed: Seed for the positions, drawn independently for each sequel.
    """
    records = {block.source: block.turns for block in package.truth}
    own = {sequel.id: sequel for sequel in sequels if sequel.id in records}
    keys = {name: _keys(package, sequel, records[name], seed) for name, sequel in own.items()}
    said = {_old(turn.id): (turn.role, turn.text) for turn in package.stream}
    for name, sequel in own.items():
        turns = ((turn.role, turn.content) for turn in sequel.dialogue)
        said.update(zip(keys[name], turns, strict=True))
    ids = {key: number for number, key in enumerate(sorted(said))}
    placed = {name: tuple(ids[key] for key in keys[name]) for name in sorted(own)}

    def moved(turns: Sequence[int]) -> tuple[int, ...]:
        return tuple(ids[_old(turn)] for turn in turns)

    def asked(query: Question) -> Question:
        sequel = own.get(query.id)
        if sequel is None:
            return replace(query, evidence=moved(query.evidence))
        kept = moved([records[query.id][index] for index in sequel.keeps])
        return replace(
            query,
            answer=sequel.answer,
            evidence=(*kept, *(placed[query.id][index] for index in sequel.evidence)),
            stress=(*query.stress, NAMED if sequel.named else UNNAMED),
            reasoning=sequel.reasoning,
        )

    return replace(
        package,
        stream=tuple(
            StreamTurn(id=ids[key], role=role, text=text)
            for key, (role, text) in sorted(said.items())
        ),
        questions=tuple(asked(query) for query in package.questions),
        truth=(
            *(replace(block, turns=moved(block.turns)) for block in package.truth),
            *(Block(source=f"{name}/sequel", turns=turns) for name, turns in placed.items()),
        ),
        noise=tuple(replace(block, turns=moved(block.turns)) for block in package.noise),
    )


def _old(turn: int) -> Key:
    """Returns the key of an original turn, which sorts after the sequels inserted before it."""
    return turn, 1.0, "", 0


def _keys(package: Package, sequel: Sequel, record: Sequence[int], seed: int) -> list[Key]:
    rng = random.Random(f"sequel:{seed}:{sequel.id}")
    begins = [turns[0] for turns in package.dialogues if turns[0] - record[-1] >= APART]
    place = rng.choice(begins) if begins else len(package.stream)
    lot = rng.random()
    return [(place, lot, sequel.id, number) for number in range(len(sequel.dialogue))]
