"""Exported requests as items for readers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scaleqa.backends.itemdir import ABOUT, Item, ItemDirectory
from scaleqa.errors import DataError
from scaleqa.evaluate.exported import Exported, read_all
from scaleqa.reading.leaks import Piece, Text, compared

# From so many tokens on, a context that several items share is shown once.
LONG = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposed:
    """A request and what it gives away.

    Attributes:
        exported: What is known about it.
        item: What a reader sees.
        piece: What it asks and shows.
        common: The beginning of the prompt, up to the end of a long context; empty if it is short.
    """

    exported: Exported
    item: Item
    piece: Piece
    common: str


def read_pieces(several: Sequence[Path]) -> list[Exposed]:
    """Reads requests of several files.

    Raises:
        DataError: A file is damaged or none of ours, or two ask the same.
    """
    read = read_all(several)
    texts = [
        Text(
            key=one.custom_id,
            id=one.row.id,
            question=one.row.question,
            evidence=one.row.evidence_texts,
            matter=one.matter,
            prompt=asked.prompt,
        )
        for one, asked in read
    ]
    return [
        Exposed(
            exported=one,
            item=Item(
                custom_id=one.custom_id,
                prompt=asked.prompt,
                letters="".join(one.row.options) if one.row.options else None,
            ),
            piece=piece,
            common=_common(one, asked.prompt),
        )
        for (one, asked), piece in zip(read, compared(texts), strict=True)
    ]


def _common(one: Exported, prompt: str) -> str:
    if one.row.context_tokens < LONG or one.row.detail is None:
        return ""
    before, found, _ = prompt.partition(one.row.detail.context)
    return before + found if found else ""


def find_shards(paths: Iterable[Path]) -> list[ItemDirectory]:
    """Opens directories of items, those named and those below them.

    Raises:
        DataError: A path leads to none.
    """
    found: list[ItemDirectory] = []
    for path in paths:
        below = sorted(about.parent for about in path.rglob(ABOUT))
        if not below:
            raise DataError(f"{path} has no shards; make some with: scaleqa batch shard")
        found += [ItemDirectory(one) for one in below]
    return found
