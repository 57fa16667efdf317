"""Standard RAG: one vector per turn, the nearest turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from tsim.toolkit import DenseIndex, best


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardRagOptions:
    """Number of turns shown."""

    k: Annotated[int, Field(ge=1, description="Turns shown.")] = 5


class StandardRag(FlatSystem):
    """Dense retrieval of single turns."""

    def __init__(self, options: StandardRagOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__()
        self._embedder = tools.embedder
        self._k = options.k
        self._ids: list[int] = []
        self._rows = DenseIndex(tools.embedder.dimension)

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Embeds new turns."""
        self._ids += [turn.id for turn in turns]
        self._rows.extend(self._embedder.embed([turn.text for turn in turns]))

    def retrieve(self, asked: Asked) -> Retrieved:
        """Finds the nearest turns."""
        scores = self._rows.scores(self._embedder.embed_query(asked.question))
        places = best(scores, self._k)
        return self.show(
            [Unit(turns=(self._ids[place],), score=float(scores[place])) for place in places]
        )

    def account(self) -> Accounting:
        """Returns what the system keeps."""
        return Accounting(vectors=len(self._rows), indexed_words=self.words)


SYSTEM = SystemDeclaration(
    name="standard_rag",
    summary="One vector per turn; the nearest turns.",
    options=StandardRagOptions,
    make=StandardRag,
    order=4,
    colour="#d55e00",
)
