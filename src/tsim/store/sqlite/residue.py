"""Former content in the unused space of a SQLite file's pages.

With `secure_delete` SQLite overwrites what is deleted. But when it divides a full page, it may
leave a copy of the rows that moved in the unused space of the page they came from, where no later
deletion reaches it. The functions here find such pages in the image of a file, so that only they
have to be written anew. They follow https://sqlite.org/fileformat2.html.
"""

import re
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

HEADER = struct.Struct(">BHHHB")  # kind, first free block, cells, begin of their content, fragments
INDEX_INNER, TABLE_INNER, INDEX_LEAF, TABLE_LEAF = 2, 5, 10, 13
INNER = (INDEX_INNER, TABLE_INNER)
FILE_HEADER = 100  # bytes before the header of the first page
# Bytes by which a row may grow less than it could, since its lengths take up more as well. The only
# row of a page must leave some more free, or is continued on another page.
SPARE, SPARE_ALONE = 8, 24


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of a table or an index."""

    data: bytes
    start: int  # of its header

    @property
    def kind(self) -> int:
        return self.data[self.start]

    @property
    def cells(self) -> tuple[int, ...]:
        """Where the cells begin."""
        count = HEADER.unpack_from(self.data, self.start)[2]
        return struct.unpack_from(f">{count}H", self.data, self._header_end)

    @property
    def children(self) -> Iterator[int]:
        """The numbers of the pages below an inner page."""
        for cell in self.cells:
            yield int.from_bytes(self.data[cell : cell + 4])
        yield int.from_bytes(self.data[self._header_end - 4 : self._header_end])

    @property
    def unused(self) -> Iterator[bytes]:
        """The parts of the page that belong to no cell."""
        _, block, count, content, _ = HEADER.unpack_from(self.data, self.start)
        yield self.data[self._header_end + 2 * count : content or len(self.data)]
        while block:
            following, size = struct.unpack_from(">HH", self.data, block)
            if 0 < following <= block:  # they are in order, unless the page is damaged
                raise sqlite3.DatabaseError("free blocks of a page are out of order")
            yield self.data[block + 4 : block + size]
            block = following

    @property
    def free(self) -> int:
        """The number of unused bytes."""
        parts = [len(part) for part in self.unused]
        return sum(parts) + 4 * (len(parts) - 1) + self.data[self.start + 7]

    @property
    def _header_end(self) -> int:
        return self.start + (12 if self.kind in INNER else 8)


@dataclass(frozen=True, slots=True)
class Stale:
    """A page of a table with former content in its unused space.

    Attributes:
        row: A row in it; not the one next to the unused space, if there are several.
        room: By how many bytes the row can grow without having to move to another page. It then
            takes up all unused space, so that SQLite has to overwrite it.
    """

    row: int
    room: int


def stale_pages(image: bytes, root: int) -> list[Stale]:
    """Returns the pages of a table in which former content is left.

    Args:
        image: All pages of the file.
        root: The number of the table's first page.

    Raises:
        sqlite3.DatabaseError: A page is damaged.
    """
    found = []
    with _damage_told():
        for page in _pages(image, root):
            if page.kind == TABLE_LEAF and page.cells and _is_stale(page):
                # Content grows downwards. The smallest row is not continued on other pages.
                others = sorted(page.cells)[1:]
                _, row = min(_size_and_row(page, cell) for cell in others or page.cells)
                spare = SPARE if others else SPARE_ALONE
                found.append(Stale(row, max(1, page.free - spare)))
    return found


def is_stale_index(image: bytes, root: int) -> bool:
    """Returns whether former content is left in the pages of an index.

    Raises:
        sqlite3.DatabaseError: A page is damaged.
    """
    with _damage_told():
        return any(_is_stale(page) for page in _pages(image, root))


@contextmanager
def _damage_told() -> Iterator[None]:
    """Tells of a place outside a page, or of a page outside the file, as SQLite does."""
    try:
        yield
    except (struct.error, IndexError) as error:
        raise sqlite3.DatabaseError(f"a page is damaged ({error})") from error


def _pages(image: bytes, root: int) -> Iterator[_Page]:
    (size,) = struct.unpack_from(">H", image, 16)
    size = 65536 if size == 1 else size
    todo, seen = [root], set[int]()
    while todo:
        number = todo.pop()
        if number in seen:
            raise sqlite3.DatabaseError(f"page {number} is in use twice")
        seen.add(number)
        data = image[(number - 1) * size : number * size]
        page = _Page(data, FILE_HEADER if number == 1 else 0)
        if page.kind in INNER:
            todo.extend(page.children)
        yield page


def _is_stale(page: _Page) -> bool:
    """Returns whether a page has former content.

    Numbers that SQLite leaves behind, places inside the page, are no content: their first byte is
    low. Two high bytes in a row are text, or part of a vector.
    """
    for part in page.unused:
        if part.count(0) < len(part) and _content(len(page.data)).search(part):
            return True
    return False


@cache
def _content(size: int) -> re.Pattern[bytes]:
    return re.compile(rb"[\x%02x-\xff]{2}" % max(1, min(255, size >> 8)))


def _size_and_row(page: _Page, cell: int) -> tuple[int, int]:
    """Returns the length and the row id of a cell of a leaf: its first two numbers."""
    size, second = _varint(page.data, cell)
    row, _ = _varint(page.data, second)
    return size, row


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """Returns the number at a place, and the place after it."""
    value = 0
    for place in range(start, start + 8):
        value = value << 7 | data[place] & 0x7F
        if data[place] < 0x80:
            return value, place + 1
    return value << 8 | data[start + 8], start + 9
