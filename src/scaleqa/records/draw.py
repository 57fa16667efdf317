"""Drawing the correct letters.

Question and options are written and sealed first. Only then is the letter drawn, and the dialogue
is written to match it, so neither question nor options can give the answer away. The letter depends
on the id alone: each cell of 150 records has 37 or 38 of each letter, and the twenty cells together
have 750 of each; cells of the third split have 50. Asides are drawn in the same way, as an eleventh
domain.

A cell of one's own, with another split or domain, has five of each letter in every twenty records.
It has to be declared, so that a misspelt domain is not drawn for.
"""

import hashlib
import json
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scaleqa.errors import DataError
from scaleqa.records.schema import (
    ASIDE,
    CELLS,
    DOMAINS,
    ID,
    LETTERS,
    Case,
    Letter,
    Options,
)

# The domains that letters are drawn for, in the order that decides who gets a 38th letter.
DRAWN = (*DOMAINS, ASIDE)
# Records of a cell of one's own among which all letters are equally frequent.
OWN = 20


class DrawReceipt(BaseModel):
    """Proof that a letter was drawn for a question and options that did not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    seal: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    letter: Letter


class Frozen(BaseModel):
    """A question with its options, before the correct letter is drawn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    question: str
    options: Options


def letter(record_id: str, declared: Collection[str] = ()) -> Letter:
    """Returns the letter drawn for an id.

    Args:
        record_id: The id.
        declared: Cells of one's own, as `split:domain`.

    Raises:
        DataError: The id has an unknown split or domain.
    """
    match = ID.fullmatch(record_id)
    cell = f"{match['split']}:{match['domain']}" if match else ""
    if match and is_own(cell, declared):
        return _own(cell, int(match["number"]))
    if not match or match["split"] not in CELLS or match["domain"] not in DRAWN:
        hint = f"; {declaring(cell)}" if match else ""
        raise DataError(
            f"{record_id!r} is not an id; expected split:Domain-NNN with split one of "
            f"{', '.join(CELLS)} and domain one of {', '.join(DRAWN)}{hint}"
        )
    # Cells are no multiple of four: two letters get one more, alternating over the cells.
    turn = DRAWN.index(match["domain"]) + [*CELLS].index(match["split"])
    size = CELLS[match["split"]]
    lots: list[Letter] = [*LETTERS * (size // len(LETTERS)), *(("A", "B"), ("C", "D"))[turn % 2]]  # type: ignore[list-item]
    block, place = divmod(int(match["number"]) - 1, size)
    random.Random(f"lots:{cell}:{block}").shuffle(lots)
    return lots[place]


def read_cells(cells: Iterable[str]) -> frozenset[str]:
    """Reads cells that somebody declares.

    Raises:
        DataError: One is not of the form `split:domain`.
    """
    found = frozenset(cells)
    for cell in sorted(found):
        if ID.fullmatch(cell) or not ID.fullmatch(f"{cell}-001"):
            raise DataError(
                f"{cell!r} is no cell; expected SPLIT:DOMAIN, as ids have it before their number, "
                "such as own:Gardening"
            )
    return found


def declaring(cell: str) -> str:
    """Says how a cell of one's own is declared."""
    return f"a cell of your own is declared by --cell {cell}"


def is_own(cell: str, declared: Collection[str]) -> bool:
    """Returns whether a cell was declared and is none of those that ship."""
    split, _, domain = cell.partition(":")
    return cell in declared and not (split in CELLS and domain in DRAWN)


def _own(cell: str, number: int) -> Letter:
    block, place = divmod(number - 1, OWN)
    lots: list[Letter] = [*LETTERS * (OWN // len(LETTERS))]  # type: ignore[list-item]
    random.Random(f"lots:{cell}:{block}").shuffle(lots)
    return lots[place]


def seal(question: str, options: Sequence[str]) -> str:
    """Hashes what must not change after the draw."""
    content = json.dumps([question, list(options)], ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


def seal_of(record: Case | Frozen) -> str:
    """Returns the seal of a record's question and options."""
    return seal(record.question, record.options.as_list())


def draw(frozen: Path, ledger: Path, declared: Collection[str] = ()) -> list[DrawReceipt]:
    """Draws letters for frozen questions and appends the receipts to a ledger.

    Drawing again with the same id, question and options returns the same receipt.

    Raises:
        DataError: A line cannot be read, or an id was already drawn for another question or
            other options. The ledger is then left unchanged.
    """
    known = {receipt.id: receipt for receipt in read_ledger(ledger)} if ledger.exists() else {}
    receipts = []
    for number, line in enumerate(frozen.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            item = Frozen.model_validate_json(line)
        except ValidationError as error:
            raise DataError(
                f"{frozen}, line {number}: {error.errors(include_url=False)[0]['msg']}; expected "
                '{"id": …, "question": …, "options": {"A": …, "B": …, "C": …, "D": …}}'
            ) from error
        receipt = DrawReceipt(id=item.id, seal=seal_of(item), letter=letter(item.id, declared))
        if known.get(item.id, receipt) != receipt:
            raise DataError(
                f"{item.id} was already drawn for another question or other options; freeze the "
                "changed one under a new id"
            )
        receipts.append(receipt)
    fresh = [receipt for receipt in receipts if receipt.id not in known]
    with ledger.open("a", encoding="utf-8") as out:
        for receipt in fresh:
            out.write(receipt.model_dump_json() + "\n")
    return receipts


def read_ledger(path: Path) -> list[DrawReceipt]:
    """Reads receipts.

    Raises:
        DataError: A line is not a receipt.
    """
    receipts = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            receipts.append(DrawReceipt.model_validate_json(line))
        except ValidationError as error:
            raise DataError(f"{path}, line {number}: not a receipt of a draw") from error
    return receipts


def mismatches(
    records: Iterable[Case], receipts: Iterable[DrawReceipt], declared: Collection[str] = ()
) -> Mapping[str, str]:
    """Finds records that do not match their receipt.

    Records are matched by seal, because a release renumbers them.

    Returns:
        The problems, by record id.
    """
    by_seal = {receipt.seal: receipt for receipt in receipts}
    found = {}
    for record in records:
        receipt = by_seal.get(seal_of(record))
        if receipt is None:
            found[record.id] = "no receipt for this question and these options"
        elif receipt.letter != record.answer:
            found[record.id] = f"answer {record.answer}, but {receipt.letter} was drawn"
        elif receipt.letter != letter(receipt.id, declared):
            found[record.id] = (
                f"the receipt of {receipt.id} has a different letter from the one drawn for that id"
            )
    return found
