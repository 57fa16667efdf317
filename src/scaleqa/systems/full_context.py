"""Full context: the whole thread, or its newest part within a budget."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from scaleqa.systems.declaration import Budget, Kind, SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Asked, Retrieved, Tools, Unit
from tsim.toolkit import tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class FullContextOptions:
    """Length of the context."""

    budget: Annotated[
        int, Field(ge=0, description="Tokens of the context (newest turns); 0: no limit.")
    ] = 0


class FullContext(FlatSystem):
    """Shows the whole thread, or its newest part within a budget."""

    def __init__(self, options: FullContextOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__()
        self._budget = options.budget

    def retrieve(self, asked: Asked) -> Retrieved:
        """Takes turns from the newest backwards within the budget, and shows them in order."""
        kept: list[int] = []
        left = tokens.words_within(self._budget) if self._budget else None
        for turn in reversed(self.turns):
            price = self.cost([turn])
            if left is not None:
                if price > left:
                    break
                left -= price
            kept.append(turn)
        return self.show([Unit(turns=tuple(reversed(kept)), score=1.0)] if kept else [])


SYSTEM = SystemDeclaration(
    name="full_context",
    summary="The whole thread, or its newest part within a budget.",
    options=FullContextOptions,
    make=FullContext,
    kind=Kind.CONTROL,
    budget=Budget(),
    order=2,
    colour="#999933",
)
