"""What a batch file asks, read back: every request with its row, and what would give it away."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from scaleqa.backends.batchfile import Asked, read_requests, text_lines
from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import read_row
from scaleqa.evaluate.rows import Row

# The backend of rows that nobody has answered yet.
UNREAD = "unread"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """One request.

    Attributes:
        custom_id: What its answer is called.
        row: The row without an answer.
        rank: Place of its question in the sample.
        matter: What was said in the dialogues that hold the evidence.
    """

    custom_id: str
    row: Row
    rank: int
    matter: tuple[str, ...]

    def stored(self) -> dict[str, Any]:
        """Returns the line that keeps it."""
        row = self.row.model_dump(mode="json", exclude_none=True)
        matter = [*self.matter]
        return {"custom_id": self.custom_id, "row": row, "rank": self.rank, "matter": matter}


def rows_beside(prompts: Path) -> Path:
    """Returns the file that keeps the rows of exported requests."""
    return prompts.with_suffix(".rows.jsonl")


def read_exported(prompts: Path) -> list[Exported]:
    """Reads what a file of requests asks.

    Raises:
        DataError: The file beside it is missing or damaged.
    """
    beside = rows_beside(prompts)
    if not beside.is_file():
        raise DataError(f"{beside} is missing; it is written by: scaleqa batch export")
    return list(_lines(beside))


def _lines(beside: Path) -> Iterator[Exported]:
    """Reads lines; earlier versions have no ranks, and the row is not under a name in the first."""
    ranks: dict[str, int] = {}
    for place, text in enumerate(text_lines(beside)):
        try:
            line = from_json(text)
            key = str(line.pop("custom_id"))
            rank, matter = line.pop("rank", None), line.pop("matter", ())
            if not isinstance(rank, int | None) or not all(isinstance(one, str) for one in matter):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{beside}, line {place + 1} is damaged; export the batch again"
            ) from error
        row = read_row(line.get("row", line), beside, place)
        known = ranks.setdefault(row.id, len(ranks))
        yield Exported(
            custom_id=key,
            row=row,
            rank=known if rank is None else rank,
            matter=tuple(matter) or row.evidence_texts,
        )


def read_all(several: Sequence[Path]) -> list[tuple[Exported, Asked]]:
    """Reads requests of several files with what is known about them.

    Raises:
        DataError: A file is damaged or none of ours, or two ask the same.
    """
    found: dict[str, tuple[Exported, Asked]] = {}
    for prompts in several:
        asked = read_requests(prompts)
        for one in read_exported(prompts):
            if one.custom_id not in asked:
                raise DataError(
                    f"{prompts} does not ask {one.custom_id!r:.80}, which {rows_beside(prompts)} "
                    "has; export the batch again"
                )
            if one.custom_id in found:
                raise DataError(f"{prompts} asks {one.custom_id!r:.80} a second time")
            found[one.custom_id] = (one, asked[one.custom_id])
    return list(found.values())
