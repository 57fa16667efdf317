"""Controls: what an answer model does with nothing, with everything, and with the truth alone."""

from collections.abc import Mapping

from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Asked, Retrieved, Tools, Unit
from scaleqa.systems.registry import take
from tsim import tokens


class ZeroShot(FlatSystem):
    """Shows nothing."""

    def retrieve(self, asked: Asked) -> Retrieved:
        """Finds nothing."""
        return self.show([])


class FullContext(FlatSystem):
    """Shows the whole thread, or its newest part under a cap."""

    def __init__(self, cap: int) -> None:
        """Starts empty."""
        super().__init__()
        self._cap = cap

    def retrieve(self, asked: Asked) -> Retrieved:
        """Takes turns from the newest back until the cap, in the thread's order."""
        kept: list[int] = []
        left = tokens.words_within(self._cap) if self._cap else None
        for turn in reversed(self.turns):
            price = self.cost([turn])
            if left is not None:
                if price > left:
                    break
                left -= price
            kept.append(turn)
        return self.show([Unit(turns=tuple(reversed(kept)), score=1.0)] if kept else [])


class Oracle(FlatSystem):
    """Shows the evidence turns: what a perfect memory would."""

    def __init__(self, tools: Tools) -> None:
        """Starts with the truth."""
        super().__init__()
        self._truth = tools.truth

    def retrieve(self, asked: Asked) -> Retrieved:
        """Looks the evidence up."""
        return self.show([Unit(turns=self._truth[asked.id], score=1.0)])


def zero_shot(options: Mapping[str, str], tools: Tools) -> ZeroShot:
    """Opens the control without memory."""
    take(options)
    return ZeroShot()


def full_context(options: Mapping[str, str], tools: Tools) -> FullContext:
    """Opens the control that shows all; options: cap (tokens, 0 for none)."""
    return FullContext(int(take(options, cap=0)["cap"]))


def oracle(options: Mapping[str, str], tools: Tools) -> Oracle:
    """Opens the control that knows the evidence."""
    take(options)
    return Oracle(tools)
