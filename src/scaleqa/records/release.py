"""The release: 150 records a cell, 37 or 38 of each letter, from what was written and kept.

Records are numbered anew, in the order they were written; receipts match by seal. Which letters get
the 38th record alternates over the cells, so that each letter is right 750 times over all twenty.
"""

from collections.abc import Mapping, Sequence

from scaleqa.errors import DataError
from scaleqa.records.schema import CELL, DOMAINS, LETTERS, SPLITS, Record


def quotas(split: str, domain: str) -> Mapping[str, int]:
    """Returns how many records of each letter a cell has."""
    turn = (DOMAINS.index(domain) + SPLITS.index(split)) % 2
    extra = ("AB", "CD")[turn]
    return {letter: CELL // len(LETTERS) + (letter in extra) for letter in LETTERS}


def release(records: Sequence[Record]) -> list[Record]:
    """Chooses and numbers the released records.

    Raises:
        DataError: A cell has too few records of a letter; the message names all such cells.
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
