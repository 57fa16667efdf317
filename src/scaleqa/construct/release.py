"""What is released of a construction: the items that passed, receipts of the draw, readings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from scaleqa.construct.book import Book
from scaleqa.construct.item import RELEASED, Item
from scaleqa.construct.tracks import Product
from scaleqa.errors import DataError, InvalidError
from scaleqa.evaluate.rowfile import write_whole
from scaleqa.records.calibration import Answer
from scaleqa.records.draw import DrawReceipt, seal
from scaleqa.records.load import CALIBRATION, DRAWS, Supplements
from scaleqa.records.readings import Reading
from scaleqa.records.schema import Aside, Record, Sequel, Wording
from scaleqa.records.sequels import Reading as SequelReading
from scaleqa.records.validate import Validation, validate
from tsim.embed import Embedder

# What the readings of each track are called beside what is released.
READINGS = {
    "records": CALIBRATION,
    "asides": "track-readings.jsonl",
    "wordings": "track-readings.jsonl",
    "sequels": "sequel-readings.jsonl",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What is released.

    Attributes:
        items: What passed, ordered by id.
        draws: Receipts of all letters that were drawn, also for what was dropped.
        readings: The last readings of all that is released.
        report: The validation.
    """

    items: Sequence[Product]
    draws: Sequence[DrawReceipt]
    readings: Sequence[BaseModel]
    report: Validation


def release(book: Book, embedder: Embedder | None = None) -> Release:
    """Chooses what passed, and validates it.

    Raises:
        DataError: Nothing passed.
        InvalidError: What passed one by one is not valid together.
    """
    chosen = sorted((i for i in book.items.values() if i.step == RELEASED), key=lambda i: i.id)
    if not chosen:
        raise DataError("nothing has passed yet; see: scaleqa construct status DIR")
    items = [book.track.product(item) for item in chosen]
    draws = [one for item in book.items.values() if (one := _draw(item))]
    report = _validated(book, items, draws, embedder)
    if report.critical:
        first = report.critical[0]
        raise InvalidError(
            f"{len(report.critical)} critical findings, the first: {first.code}: {first.where}: "
            f"{first.message}"
        )
    readings = [one for item in chosen for one in _readings(book, item)]
    return Release(items=items, draws=draws, readings=readings, report=report)


def write_release(found: Release, book: Book, to: Path) -> list[Path]:
    """Writes what is released, and beside it receipts of the draw and readings."""
    files: dict[Path, Iterable[BaseModel]] = {to: found.items}
    if book.plan.track in ("records", "asides"):
        files[to.with_name(DRAWS)] = found.draws
    files[to.with_name(READINGS[book.plan.track])] = found.readings
    if len(files) < 2 or to.name in (DRAWS, *READINGS.values()):
        raise DataError(f"{to} is the name of what is written beside; choose another --to")
    for path, lines in files.items():
        write_whole(path, "".join(f"{one.model_dump_json()}\n" for one in lines).encode())
    return [*files]


def _draw(item: Item) -> DrawReceipt | None:
    made = item.made
    if "letter" not in made:
        return None
    sealed = seal(made["question"], made["options"])
    return DrawReceipt(id=item.id, seal=sealed, letter=made["letter"])


def _validated(
    book: Book, items: Sequence[Product], draws: Sequence[DrawReceipt], embedder: Embedder | None
) -> Validation:
    beside = Supplements(
        sequels=[one for one in items if isinstance(one, Sequel)],
        wordings=[one for one in items if isinstance(one, Wording)],
        asides=[one for one in items if isinstance(one, Aside)],
    )
    own = [one for one in items if isinstance(one, Record)]
    return validate(
        own or [*book.track.given.values()],
        receipts=draws if own or beside.asides else None,
        embedder=embedder,
        supplements=beside,
        declared={*book.plan.cells, *(r.cell for r in book.track.given.values())},
    )


def _readings(book: Book, item: Item) -> list[BaseModel]:
    product = book.track.product(item)
    found: list[BaseModel] = []
    for mode, read in item.made.get("readings", {}).items():
        who = book.plan.models.reader
        if isinstance(product, Record):
            found.append(
                Answer(
                    id=item.id,
                    seal=seal(product.question, product.options.as_list()),
                    mode=mode,
                    reader=who,
                    answer=read["answer"],
                    flags=tuple(read.get("flags", ())),
                    note=read.get("note", ""),
                )
            )
        elif isinstance(product, Sequel):
            turns = len(book.track.given[item.id].dialogue)
            seen = read.get("evidence", [])
            found.append(
                SequelReading(
                    id=item.id,
                    reader=who,
                    answer=read["answer"],
                    needs_old=tuple(n for n in seen if n < turns),
                    needs_later=tuple(n - turns for n in seen if n >= turns),
                    note=read.get("note", ""),
                )
            )
        else:
            options = (
                product if isinstance(product, Aside) else book.track.given[item.id]
            ).options.as_list()
            picked = mode == "pick"
            found.append(
                Reading(
                    id=item.id,
                    seal=seal(product.question, options),
                    reader=who,
                    mode="shelf" if picked else mode,
                    pick=item.id if picked else None,
                    sure=read.get("sure", True),
                    answer=read.get("answer"),
                    note=read.get("note", ""),
                )
            )
    return found
