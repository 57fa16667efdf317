"""Fixed windows: runs of whole turns of about a given length, one vector per window."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import Budget, SystemDeclaration
from scaleqa.systems.protocol import Tools
from scaleqa.systems.windowed import WindowedSystem
from tsim.toolkit import tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedWindowOptions:
    """Length of windows, and how many are shown."""

    size: Annotated[int, Field(ge=0, description="Tokens at which a window is full.")] = 128
    k: Annotated[int, Field(ge=1, description="Windows shown.")] = 5


class FixedWindow(WindowedSystem):
    """Windows that are full at about a given length."""

    def __init__(self, options: FixedWindowOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__(tools, k=options.k)
        self._size = options.size
        self._held = 0
        self._begun = False

    def cuts(self, turns: Sequence[StreamTurn]) -> Iterable[bool]:
        """A turn starts a new window if the current one is full."""
        for turn in turns:
            cut = not self._begun or tokens.from_words(self._held) >= self._size
            words = len(turn.text.split())
            self._held = words if cut else self._held + words
            self._begun = True
            yield cut


SYSTEM = SystemDeclaration(
    name="fixed_window",
    summary="Windows of about equal length, one vector each; the nearest.",
    options=FixedWindowOptions,
    make=FixedWindow,
    budget=Budget(option="k", unit=160),
    order=3,
    colour="#009e73",
)
