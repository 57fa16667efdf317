"""An item on its way from a scenario to a release: its state, and the decisions that change it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

RELEASED = "released"
DROPPED = "dropped"
ENDS = (RELEASED, DROPPED)
Verdict = Literal["passed", "again", "back", "dropped"]


class Decision(BaseModel):
    """What became of an item at a step.

    Attributes:
        item: The item's id.
        verdict: It goes on to the next step, is tried again at this one, goes back to be mended,
            or is dropped.
        to: The step it goes to.
        code: A short name of the reason, for counting.
        reasons: The reasons in full, which the writer is told.
        made: The parts that were made or changed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    item: str
    verdict: Verdict
    to: str
    code: str = ""
    reasons: tuple[str, ...] = ()
    made: dict[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item as the decisions so far have made it.

    Attributes:
        id: The id of what is to be released.
        domain: Its domain.
        lots: What was drawn for it, by name: stress, topic and so on.
        step: Where it is.
        tries: How often this step has failed since it was reached.
        round: How often it went back.
        reasons: Why it has to be made again.
        made: Its parts, as JSON.
    """

    id: str
    domain: str
    lots: Mapping[str, str]
    step: str
    tries: int = 0
    round: int = 0
    reasons: tuple[str, ...] = ()
    made: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.step in ENDS

    def key(self, seed: str, ask: str) -> str:
        """Names a request about it; without the seed of the plan, the name tells nothing."""
        content = "\n".join([seed, self.id, ask, str(self.round), str(self.tries)])
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def after(self, decision: Decision) -> "Item":
        """Returns the item as a decision leaves it."""
        made = {**self.made, **decision.made}
        moved = replace(self, step=decision.to, made=made, reasons=decision.reasons)
        match decision.verdict:
            case "again":
                return replace(moved, tries=self.tries + 1)
            case "back":
                return replace(moved, tries=0, round=self.round + 1)
            case "passed" | "dropped":
                return replace(moved, tries=0)
