"""Choosing a release: 150 records per cell, with 37 or 38 of each letter.

Records are renumbered in the order they were written; receipts match by seal. The letters that get
a 38th record alternate over the cells, so that each letter is correct 750 times over all twenty.
"""

from collections.abc import Mapping, Sequence

from scaleqa.errors import DataError
from scaleqa.records.schema import CELL, DOMAINS, LETTERS, SPLITS, Record


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
