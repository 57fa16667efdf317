"""Tables: a configuration and a split each, of what ships, of packages, and of runs."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import BaseModel

from scaleqa.bridges.huggingface.shapes import Fields, Scalar, fields_of, shape_of, shaped
from scaleqa.evaluate.rows import Row
from scaleqa.packages import Block, Package, Question, StreamTurn
from scaleqa.records import (
    THIRD,
    Aside,
    Life,
    Record,
    Sequel,
    Wording,
    shipped,
    shipped_asides,
    shipped_sequels,
    shipped_talk,
    shipped_wordings,
)

# The split of what has none.
WHOLE = "test"
TEXT = Scalar(dtype="string")
TURN = Fields(fields={"package": TEXT, **fields_of(StreamTurn).fields})
QUESTION = Fields(fields={"package": TEXT, **fields_of(Question).fields})
PACKAGE = Fields(
    fields={
        "name": TEXT,
        "sha256": TEXT,
        "settings": TEXT,
        "truth": shape_of(list[Block]),
        "noise": shape_of(list[Block]),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of one shape.

    Attributes:
        config: The name of the configuration.
        split: The name of the split.
        shape: The columns.
        rows: The rows, as plain data.
    """

    config: str
    split: str
    shape: Fields
    rows: Sequence[Mapping[str, Any]]


def track_tables() -> list[Table]:
    """Returns the records and what ships beside them, by split."""
    found: list[tuple[str, type[BaseModel], Sequence[BaseModel]]] = [
        ("records", Record, [*shipped(), *shipped(THIRD)]),
        ("wordings", Wording, shipped_wordings()),
        ("asides", Aside, shipped_asides()),
        ("talk", Life, shipped_talk()),
        ("sequels", Sequel, shipped_sequels()),
    ]
    return [table for config, model, some in found for table in by_split(config, model, some)]


def by_split(config: str, model: type[BaseModel], some: Iterable[BaseModel]) -> Iterator[Table]:
    """Divides what has ids such as `s1:Finance-017` into a table for each split."""
    shape = fields_of(model)
    rows: dict[str, list[Any]] = {}
    for one in some:
        row = shaped(one.model_dump(), shape)
        rows.setdefault(row["id"].partition(":")[0], []).append(row)
    for split in sorted(rows):
        yield Table(config=config, split=split, shape=shape, rows=rows[split])


def package_tables(packages: Sequence[Package]) -> list[Table]:
    """Returns threads turn by turn, their questions, and how they were built."""
    turns = [
        shaped({"package": package.name, **asdict(turn)}, TURN)
        for package in packages
        for turn in package.stream
    ]
    questions = [
        shaped({"package": package.name, **asdict(question)}, QUESTION)
        for package in packages
        for question in package.questions
    ]
    built = [
        shaped(
            {
                "name": package.name,
                "sha256": package.sha256,
                "settings": json.dumps(package.settings, ensure_ascii=False, sort_keys=True),
                "truth": [asdict(block) for block in package.truth],
                "noise": [asdict(block) for block in package.noise],
            },
            PACKAGE,
        )
        for package in packages
    ]
    return [
        Table(config="turns", split=WHOLE, shape=TURN, rows=turns),
        Table(config="questions", split=WHOLE, shape=QUESTION, rows=questions),
        Table(config="packages", split=WHOLE, shape=PACKAGE, rows=built),
    ]


def row_table(rows: Iterable[Row]) -> Table:
    """Returns the rows of a run."""
    shape = fields_of(Row)
    plain = [shaped(row.model_dump(mode="json"), shape) for row in rows]
    return Table(config="rows", split=WHOLE, shape=shape, rows=plain)
