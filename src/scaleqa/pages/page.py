"""A page as data: a title, an introduction, and sections made of blocks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from scaleqa.pages.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Some sentences; `code` and **strong** words may be marked as in Markdown.

    Attributes:
        text: What it says.
        kind: How prominent it is.
    """

    text: str
    kind: Literal["plain", "finding"] = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Remarks in small print; marked up like paragraphs."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Names and what they are."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A drawing.

    Attributes:
        svg: The SVG element, from `scaleqa.pages.drawings`.
        title: What it shows, for those who do not see it.
        caption: What is written below it.
    """

    svg: str
    title: str
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One of several versions of a section; on a screen the reader chooses one."""

    title: str
    blocks: tuple["Block", ...]


Block: TypeAlias = Paragraph | Notes | Facts | Drawing | Table | Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks under a title.

    Attributes:
        name: Its address within the page.
        title: What readers see; empty for none.
        blocks: What it holds.
    """

    name: str = ""
    title: str = ""
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page."""

    title: str
    introduction: tuple[Block, ...] = ()
    sections: tuple[Section, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, in order."""
        return tuple(block for block in self._blocks() if isinstance(block, Table))

    @property
    def drawings(self) -> tuple[Drawing, ...]:
        """All drawings, in order."""
        return tuple(block for block in self._blocks() if isinstance(block, Drawing))

    def _blocks(self) -> Iterator[Block]:
        yield from flat(self.introduction)
        for section in self.sections:
            yield from flat(section.blocks)


def flat(blocks: Iterable[Block]) -> Iterator[Block]:
    """Goes through blocks and those inside variants."""
    for block in blocks:
        if isinstance(block, Variant):
            yield from flat(block.blocks)
        else:
            yield block
