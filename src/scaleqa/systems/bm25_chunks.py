"""BM25 over fixed chunks of whole turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Asked, Retrieved, Tools, Unit
from tsim.toolkit import Postings, best, tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25ChunksOptions:
    """Length of chunks, and how many are shown."""

    size: Annotated[int, Field(ge=1, description="Maximum tokens of a chunk.")] = 1100
    k: Annotated[int, Field(ge=1, description="Chunks shown.")] = 5


class Bm25Chunks(FlatSystem):
    """Non-overlapping chunks of consecutive whole turns; the last one is still open.

    The index is rebuilt at the first request after new turns, because an open chunk that grows
    cannot be updated in place.
    """

    def __init__(self, options: Bm25ChunksOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__()
        self._size = options.size
        self._k = options.k
        self._chunks: list[list[int]] = []
        self._open = 0
        self._postings: Postings | None = None

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Fills chunks; a turn longer than a chunk gets a chunk of its own."""
        for turn in turns:
            words = len(turn.text.split())
            if not self._chunks or tokens.from_words(self._open + words) > self._size:
                self._chunks.append([])
                self._open = 0
            self._chunks[-1].append(turn.id)
            self._open += words
        self._postings = None

    def retrieve(self, asked: Asked) -> Retrieved:
        """Finds the best chunks; chunks that share no word with the request are left out."""
        scores = self._indexed().scores(asked.question)
        return self.show(
            [
                Unit(turns=tuple(self._chunks[place]), score=float(scores[place]))
                for place in best(scores, self._k)
                if scores[place] > 0
            ]
        )

    def _indexed(self) -> Postings:
        if self._postings is None:
            self._postings = Postings()
            for chunk in self._chunks:
                self._postings.append("\n".join(self.turns[turn].text for turn in chunk))
        return self._postings


SYSTEM = SystemDeclaration(
    name="bm25_chunks",
    summary="BM25 over chunks of whole turns that do not overlap.",
    options=Bm25ChunksOptions,
    make=Bm25Chunks,
)
