"""BM25 over fixed chunks of whole turns."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from scaleqa.packages import StreamTurn
from scaleqa.systems.bm25 import Bm25System
from scaleqa.systems.declaration import SystemDeclaration
from scaleqa.systems.protocol import Tools
from tsim.toolkit import tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25ChunksOptions:
    """Length of chunks, and how many are shown."""

    size: Annotated[int, Field(ge=1, description="Maximum tokens of a chunk.")] = 1100
    k: Annotated[int, Field(ge=1, description="Chunks shown.")] = 5


class Bm25Chunks(Bm25System):
    """Non-overlapping chunks of consecutive whole turns; the last one is still open."""

    def __init__(self, options: Bm25ChunksOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__(k=options.k)
        self._size = options.size
        self._open = 0

    def place(self, turn: StreamTurn) -> None:
        """Fills chunks; a turn longer than a chunk gets a chunk of its own."""
        words = len(turn.text.split())
        if not self.units or tokens.from_words(self._open + words) > self._size:
            self.units.append([])
            self._open = 0
        self.units[-1].append(turn.id)
        self._open += words


SYSTEM = SystemDeclaration(
    name="bm25_chunks",
    summary="BM25 over chunks of whole turns that do not overlap.",
    options=Bm25ChunksOptions,
    make=Bm25Chunks,
)
