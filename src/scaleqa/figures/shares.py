"""Shares of questions, with intervals."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scaleqa.stats import Interval, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of some questions, with Wilson's 95 % interval."""

    found: int
    questions: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.found / self.questions

    @property
    def interval(self) -> Interval:
        """Wilson's interval."""
        return wilson(self.found, self.questions)

    def as_json(self) -> dict[str, Any]:
        """Returns the figures for programs."""
        return {"value": self.value, "interval": self.interval, "questions": self.questions}


def share(values: Iterable[bool]) -> Share:
    """Counts how often something is so."""
    known = list(values)
    return Share(found=sum(known), questions=len(known))
