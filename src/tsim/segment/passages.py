"""Passages: parts of a long text.

A text falls into pieces: lines; the sentences of lines that are too long; the words of sentences
that are too long; and equal parts of words that are still too long. Neighbouring pieces are packed
into passages as long as they fit. A passage ends at the strongest boundary in its second half:
before a heading or a fenced block rather than between paragraphs, between paragraphs rather than
between list items, and so on down to the middle of a word.

Passages follow each other without gaps: joined, they are the text, and every token is in exactly
one of them. The time is proportional to the length of the text.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import TypeAlias

from tsim.characters import whole

# Returns the number of tokens of each text.
Count: TypeAlias = Callable[[Sequence[str]], Sequence[int]]
Cut: TypeAlias = Callable[[str, "Piece"], Iterable["Piece"]]

# A text with more tokens is divided, even if the encoder reads more: what is said in one place is
# found more easily in a short passage, and more of them fit into a context.
WHOLE_TOKENS = 128
# A passage has at most as many tokens.
PASSAGE_TOKENS = 64
# As many characters count as a token at least: encoders have a single token for a word that they
# do not know, however long it is.
CHARACTERS_PER_TOKEN = 16
# Pieces that are counted at once.
BATCH = 4096

LINE = re.compile(r"[^\n]*\n|[^\n]+")
SENTENCE_END = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))\s+|[。！？]+")
WORD_END = re.compile(r"\s+|[,;|)\]}>，、；]+")
HEADING = re.compile(r"\s{0,3}#{1,6}\s")
ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
FENCES = ("```", "~~~")


class Boundary(IntEnum):
    """What begins with a piece, the strongest last."""

    PART = 0
    WORD = 1
    SENTENCE = 2
    INDENTED = 3
    LINE = 4
    ITEM = 5
    PARAGRAPH = 6
    HEADING = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a text that is not cut further if it fits.

    Attributes:
        start: Its first character.
        end: The character after its last.
        boundary: What begins with it.
        size: Its number of tokens, or more if it has very many characters; -1 if not counted yet.
    """

    start: int
    end: int
    boundary: Boundary
    size: int = -1


def divide(text: str, count: Count, most: int) -> tuple[int, ...]:
    """Divides a text into passages.

    Args:
        text: The text.
        count: Counts tokens.
        most: Maximum number of tokens of a passage.

    Returns:
        The character at which each passage begins; the first is 0.
    """

    def exceeds(piece: Piece) -> bool:
        return piece.size > most and piece.end - piece.start > 1

    def refined(pieces: Sequence[Piece], cut: Cut) -> list[Piece]:
        finer = [
            one for piece in pieces for one in (cut(text, piece) if exceeds(piece) else [piece])
        ]
        return _counted(text, finer, count, most)

    pieces = _counted(text, list(_lines(text)), count, most)
    for cut in (_sentences, _words):
        pieces = refined(pieces, cut)
    while any(exceeds(piece) for piece in pieces):
        pieces = refined(pieces, lambda _, piece: _parts(text, piece, most))
    return tuple(_packed(pieces, most))


def _lines(text: str) -> Iterator[Piece]:
    """Yields the lines of a text; blank lines belong to the line before them."""
    start, boundary = 0, Boundary.HEADING
    begun = blank = fenced = False
    for found in LINE.finditer(text):
        line = found[0]
        if line.isspace():
            blank = True
            continue
        if begun:
            yield Piece(start=start, end=found.start(), boundary=boundary)
            start, boundary = found.start(), _begins(line, blank=blank, fenced=fenced)
        fence = line.lstrip().startswith(FENCES)
        blank = fence and fenced  # a paragraph begins after a fenced block
        fenced ^= fence
        begun = True
    yield Piece(start=start, end=len(text), boundary=boundary)


def _begins(line: str, *, blank: bool, fenced: bool) -> Boundary:
    """Returns what begins with a line that is not blank."""
    indented = line[0] in " \t"
    if not fenced and (HEADING.match(line) or line.lstrip().startswith(FENCES)):
        return Boundary.HEADING
    if blank:
        return Boundary.ITEM if indented else Boundary.PARAGRAPH
    if not fenced and ITEM.match(line):
        return Boundary.ITEM
    return Boundary.INDENTED if indented else Boundary.LINE


def _sentences(text: str, piece: Piece) -> Iterator[Piece]:
    return _cut_after(text, piece, SENTENCE_END, Boundary.SENTENCE)


def _words(text: str, piece: Piece) -> Iterator[Piece]:
    return _cut_after(text, piece, WORD_END, Boundary.WORD)


def _cut_after(
    text: str, piece: Piece, ends: re.Pattern[str], boundary: Boundary
) -> Iterator[Piece]:
    """Cuts a piece after everything that a pattern finds in it."""
    found = (match.end() for match in ends.finditer(text, piece.start, piece.end))
    edges = [piece.start, *(edge for edge in found if edge < piece.end), piece.end]
    for start, end in pairwise(edges):
        begins = piece.boundary if start == piece.start else boundary
        yield Piece(start=start, end=end, boundary=begins)


def _parts(text: str, piece: Piece, most: int) -> Iterator[Piece]:
    """Cuts a piece into equal parts, as many as might fit."""
    length = piece.end - piece.start
    count = min(length, -(-piece.size // most))
    equal = (piece.start + length * part // count for part in range(1, count))
    inner = {whole(text, edge, piece.start) for edge in equal}
    for start, end in pairwise([piece.start, *sorted(inner), piece.end]):
        begins = piece.boundary if start == piece.start else Boundary.PART
        yield Piece(start=start, end=end, boundary=begins)


def _counted(text: str, pieces: Sequence[Piece], count: Count, most: int) -> list[Piece]:
    """Sets the size of new pieces; tokens are not counted if there are too many characters."""
    sizes = [
        -(-(piece.end - piece.start) // CHARACTERS_PER_TOKEN) if piece.size < 0 else piece.size
        for piece in pieces
    ]
    new = [n for n, piece in enumerate(pieces) if piece.size < 0 and sizes[n] <= most]
    for first in range(0, len(new), BATCH):
        some = new[first : first + BATCH]
        found = count([text[pieces[n].start : pieces[n].end] for n in some])
        for n, tokens in zip(some, found, strict=True):
            sizes[n] = max(tokens, sizes[n])
    return [
        piece if piece.size == size else replace(piece, size=size)
        for piece, size in zip(pieces, sizes, strict=True)
    ]


def _packed(pieces: Sequence[Piece], most: int) -> Iterator[int]:
    """Yields the character at which each passage begins."""
    before = [0, *accumulate(piece.size for piece in pieces)]
    first = 0
    while True:
        yield pieces[first].start
        last = max(first + 1, bisect_right(before, before[first] + most) - 1)
        if last == len(pieces):
            return
        half = bisect_left(before, before[first] + most / 2, first + 1, last)
        first = max(range(half, last + 1), key=lambda place: (pieces[place].boundary, place))
