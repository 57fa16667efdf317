"""Choosing a release of records, second wordings, asides and talk.

150 records per cell are released, with 37 or 38 of each letter. They are renumbered in the order
they were written; receipts match by seal. The letters that get a 38th record alternate over the
cells, so that each letter is correct 750 times over all twenty.

Second wordings and asides are released if no check finds a problem and all readers who saw the
dialogue picked it, answered correctly and gave no flag that speaks against the question. They keep
their ids.

Questions about lives are released if no check finds a problem, and every reader found them clear
and named all of their evidence. A life without such a question is left out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Generic, TypeVar

from scaleqa.errors import DataError
from scaleqa.records.draw import DrawReceipt, mismatches
from scaleqa.records.load import Supplements
from scaleqa.records.readings import Reading, Sealed, outcomes, sealed_cases, sealed_wordings
from scaleqa.records.schema import CELL, DOMAINS, LETTERS, SPLITS, Aside, Life, Record, Wording
from scaleqa.records.talk_readings import TalkReading, talk_outcomes
from scaleqa.records.validate import supplement_findings, validate

# Second wordings of a cell; spare ones are left out, so that cells are even.
MOST_WORDINGS = 30
Item = TypeVar("Item", Wording, Aside, Life, Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Generic[Item]):
    """Released second wordings, asides or lives.

    Attributes:
        items: What is released, ordered by id.
        funnel: How many each stage kept, and how many were left out; of lives, their questions
            are counted.
    """

    items: list[Item]
    funnel: dict[str, int]


def quotas(split: str, domain: str) -> Mapping[str, int]:
    """Returns the number of records per letter in a cell."""
    turn = (DOMAINS.index(domain) + SPLITS.index(split)) % 2
    extra = ("AB", "CD")[turn]
    return {letter: CELL // len(LETTERS) + (letter in extra) for letter in LETTERS}


def release(records: Sequence[Record]) -> list[Record]:
    """Chooses and numbers the released records.

    Raises:
        DataError: A cell has too few records of a letter; the message lists all such cells.
    """
    chosen: list[Record] = []
    short: list[str] = []
    for split in SPLITS:
        for domain in DOMAINS:
            cell = [r for r in records if (r.split, r.domain) == (split, domain)]
            cell.sort(key=lambda record: int(record.id.rsplit("-", 1)[1]))
            kept: list[Record] = []
            for letter, quota in quotas(split, domain).items():
                own = [record for record in cell if record.answer == letter]
                if len(own) < quota:
                    short.append(f"{split}:{domain} has {len(own)} of {quota} with answer {letter}")
                kept += own[:quota]
            kept.sort(key=lambda record: int(record.id.rsplit("-", 1)[1]))
            chosen += [
                record.model_copy(update={"id": f"{split}:{domain}-{number:03d}"})
                for number, record in enumerate(kept, 1)
            ]
    if short:
        raise DataError("the release is not complete: " + "; ".join(short))
    return chosen


def release_wordings(
    wordings: Sequence[Wording], records: Sequence[Record], readings: Sequence[Reading]
) -> Released[Wording]:
    """Chooses the released second wordings, at most `MOST_WORDINGS` of a cell.

    Raises:
        DataError: A wording was changed after it was read.
    """
    faulty = _faulty(Supplements(wordings=wordings), records)
    sealed = sealed_wordings(wordings, records)
    sound, funnel = _sift(wordings, faulty, readings, sealed)
    cells = {record.id: record.cell for record in records}
    taken: Counter[str] = Counter()
    chosen = []
    for wording in sorted(sound, key=lambda one: sha256(f"wording:{one.id}".encode()).hexdigest()):
        if taken[cells[wording.id]] < MOST_WORDINGS:
            taken[cells[wording.id]] += 1
            chosen.append(wording)
    return _released(chosen, funnel | {"left out: spare": len(sound) - len(chosen)})


def release_asides(
    asides: Sequence[Aside], receipts: Sequence[DrawReceipt], readings: Sequence[Reading]
) -> Released[Aside]:
    """Chooses the released asides.

    Raises:
        DataError: An aside was changed after it was read.
    """
    faulty = _faulty(Supplements(asides=asides), []) | {*mismatches(asides, receipts)}
    sound, funnel = _sift(asides, faulty, readings, sealed_cases(asides))
    return _released(sound, funnel)


def release_third(
    records: Sequence[Record], receipts: Sequence[DrawReceipt], readings: Sequence[Reading]
) -> Released[Record]:
    """Chooses the released records of the third split: all that checks and readers found sound.

    Raises:
        DataError: A record was changed after it was read.
    """
    found = validate(records, receipts=receipts)
    faulty = {where for finding in found.critical for where in finding.where.split()}
    sound, funnel = _sift(records, faulty, readings, sealed_cases(records))
    return _released(sound, {"questions and options frozen, letters drawn": len(receipts)} | funnel)


def release_talk(lives: Sequence[Life], readings: Sequence[TalkReading]) -> Released[Life]:
    """Chooses the released lives and their questions.

    Raises:
        DataError: A question or its life was changed after it was read.
    """
    faulty = _faulty(Supplements(talk=lives), [])
    found = talk_outcomes(readings, lives)
    asked = [(life.id, question.id) for life in lives for question in life.questions]
    read = [pair for pair in asked if pair[1] in found]
    clear = [pair for pair in read if found[pair[1]].clear]
    covered = [pair for pair in clear if found[pair[1]].covered]
    sound = {question for life, question in covered if not {life, question} & faulty}
    chosen = [
        life.model_copy(update={"questions": kept})
        for life in lives
        if (kept := [question for question in life.questions if question.id in sound])
    ]
    return Released(
        items=sorted(chosen, key=lambda life: life.id),
        funnel={
            "written": len(asked),
            "read": len(read),
            "left out: not clear": len(read) - len(clear),
            "left out: other evidence named": len(clear) - len(covered),
            "left out: a finding of the checks": len(covered) - len(sound),
            "released": len(sound),
        },
    )


def _faulty(items: Supplements, records: Sequence[Record]) -> set[str]:
    return {finding.where for finding in supplement_findings(items, records)}


def _sift(
    items: Sequence[Item],
    faulty: set[str],
    readings: Sequence[Reading],
    sealed: Sequence[Sealed],
) -> tuple[list[Item], dict[str, int]]:
    """Returns the items that checks and readers found sound, and how many each stage kept."""
    found = outcomes(readings, sealed)
    read = [item for item in items if item.id in found]
    picked = [item for item in read if found[item.id].picked]
    right = [item for item in picked if found[item.id].right]
    liked = [item for item in right if not found[item.id].flagged]
    sound = [item for item in liked if item.id not in faulty]
    return sound, {
        "written": len(items),
        "read": len(read),
        "dialogue picked correctly": len(picked),
        "answered correctly": len(right),
        "left out: flagged": len(right) - len(liked),
        "left out: a finding of the checks": len(liked) - len(sound),
    }


def _released(items: Sequence[Item], funnel: Mapping[str, int]) -> Released[Item]:
    chosen = sorted(items, key=lambda item: item.id)
    return Released(items=chosen, funnel={**funnel, "released": len(chosen)})
