"""BM25 over whole sessions: the paper's control that is given the boundaries."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from scaleqa.packages import StreamTurn
from scaleqa.systems.bm25 import Bm25System
from scaleqa.systems.declaration import Kind, Sees, SystemDeclaration
from scaleqa.systems.protocol import Exchange, Tools


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25SessionsOptions:
    """How many sessions are shown."""

    k: Annotated[int, Field(ge=1, description="Sessions shown.")] = 5


class Bm25Sessions(Bm25System):
    """Knows where each session begins and ends, but not which one is relevant.

    An exchange is a session of its own, and so is a turn that belongs to none.
    """

    def __init__(self, options: Bm25SessionsOptions, tools: Tools) -> None:
        """Starts with the boundaries, but without any turns."""
        super().__init__(k=options.k)
        self._home = {turn: session[0] for session in tools.dialogues for turn in session}
        self._places: dict[int, int] = {}

    def place(self, turn: StreamTurn) -> None:
        """Adds a turn to its session."""
        home = self._home.get(turn.id, turn.id)
        if home not in self._places:
            self._places[home] = len(self.units)
            self.units.append([])
        self.units[self._places[home]].append(turn.id)

    def observe(self, exchange: Exchange) -> None:
        """Ingests an exchange as one session."""
        first, second = exchange.turns
        self._home[second.id] = first.id
        super().observe(exchange)


SYSTEM = SystemDeclaration(
    name="bm25_sessions",
    summary="BM25 over whole sessions with their true boundaries.",
    options=Bm25SessionsOptions,
    make=Bm25Sessions,
    kind=Kind.CONTROL,
    sees=Sees.BOUNDARIES,
    order=3,
)
