"""Oracle: the evidence itself, as a perfect memory would show it."""

from scaleqa.options import NoOptions
from scaleqa.systems.declaration import Kind, Sees, SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Asked, Retrieved, Tools, Unit


class Oracle(FlatSystem):
    """Shows the evidence turns."""

    def __init__(self, options: NoOptions, tools: Tools) -> None:
        """Keeps the evidence of all questions."""
        super().__init__()
        self._truth = tools.truth

    def retrieve(self, asked: Asked) -> Retrieved:
        """Returns the evidence turns that have been ingested so far."""
        turns = tuple(turn for turn in self._truth[asked.id] if turn in self.turns)
        return self.show([Unit(turns=turns, score=1.0)] if turns else [])


SYSTEM = SystemDeclaration(
    name="oracle",
    summary="The evidence turns: what a perfect memory would show.",
    options=NoOptions,
    make=Oracle,
    kind=Kind.BOUND,
    sees=Sees.EVIDENCE,
    order=1,
    colour="#7d8590",
)
