"""Topics that resume: sequels stand in a thread long after their records, and change what is right.

The thread is built as it is without them; they come on top, between its dialogues.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from scaleqa.packages.package import Block, Package, Question, StreamTurn
from scaleqa.records import Sequel

# Turns from the last one of a record to the first one of its sequel, at least.
APART = 200
NAMED = "sequel_named"
UNNAMED = "sequel_unnamed"
# Where a turn stands: before or at which old turn, the lot among sequels there, whose, which one.
Key = tuple[int, float, str, int]


def resume(package: Package, sequels: Sequence[Sequel], seed: int) -> Package:
    """Puts the sequels of a package's records into its thread.

    Each begins between two dialogues, at least `APART` turns after its record's last turn; where
    there is no such place, at the thread's end. A question whose record has a sequel gets the
    sequel's answer, evidence and reasoning; of all else, only the turns' ids change.

    Args:
        package: A package of whole dialogues, one after another.
        sequels: Sequels, at most one a record; those of records elsewhere are passed over.
        seed: Draws the places, for each sequel by itself.
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
    """The key of a turn that was there before: behind the sequels that come before it."""
    return turn, 1.0, "", 0


def _keys(package: Package, sequel: Sequel, record: Sequence[int], seed: int) -> list[Key]:
    rng = random.Random(f"sequel:{seed}:{sequel.id}")
    begins = [turns[0] for turns in package.dialogues if turns[0] - record[-1] >= APART]
    place = rng.choice(begins) if begins else len(package.stream)
    lot = rng.random()
    return [(place, lot, sequel.id, number) for number in range(len(sequel.dialogue))]
