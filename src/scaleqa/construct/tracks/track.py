"""What a track consists of: steps, what is asked at each, and what is decided then. All pure."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ValidationError

from scaleqa.construct.item import DROPPED, Decision, Item
from scaleqa.construct.plan import Plan, Who
from scaleqa.construct.replies import ClosedReading, OpenReading
from scaleqa.records.schema import LETTERS, Aside, Record, Sequel, Wording
from tsim.embed import Embedder

Product = Record | Aside | Wording | Sequel
Replies = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request to a model.

    Attributes:
        name: What it is called in receipts and exports.
        who: Who is asked.
        template: The prompt, by name and version.
        reply: What the reply must be.
    """

    name: str
    who: Who
    template: str
    reply: type[BaseModel]


# How a dialogue with its question is read, whatever it was made for.
OPEN = Ask(name="open", who="reader", template="open.v1", reply=OpenReading)
CLOSED = Ask(name="closed", who="reader", template="closed.v1", reply=ClosedReading)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step that all items take; without requests, items are compared with one another there."""

    name: str
    asks: tuple[Ask, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Track(ABC):
    """A kind of thing that is constructed.

    Attributes:
        plan: The plan.
        given: The records that it starts from, by id.
    """

    plan: Plan
    given: Mapping[str, Record]
    steps: ClassVar[tuple[Step, ...]]
    # The step from which on an item has been judged by machine alone, and is read.
    reading: ClassVar[str] = "read"

    def step(self, name: str) -> Step:
        """Returns the step of a name."""
        return next(step for step in self.steps if step.name == name)

    def asks(self, item: Item) -> tuple[Ask, ...]:
        """Returns what is to be asked about an item; what was read already is not read again."""
        known = item.made.get("readings", {})
        return tuple(
            ask
            for ask in self.step(item.step).asks
            if ask.name not in known or known[ask.name]["of"] != self.shown(item, ask)
        )

    def shown(self, item: Item, ask: Ask) -> str:
        """Names what a reader sees of an item."""
        parts = self.parts(item, ask, ())
        return hashlib.sha256(repr(sorted(parts.items())).encode()).hexdigest()[:16]

    def kept(self, item: Item, replies: Replies) -> dict[str, Any]:
        """Returns the readings of an item with those that have come."""
        fresh = {
            ask.name: {"of": self.shown(item, ask), **replies[ask.name].model_dump()}
            for ask in self.step(item.step).asks
            if ask.who == "reader" and ask.name in replies
        }
        return {"readings": {**item.made.get("readings", {}), **fresh}} if fresh else {}

    def passed(self, item: Item, made: Mapping[str, Any] | None = None) -> Decision:
        """Decides that an item goes on."""
        names = [step.name for step in self.steps]
        after = (*names[names.index(item.step) + 1 :], "released")[0]
        return Decision(item=item.id, verdict="passed", to=after, made=dict(made or {}))

    def again(
        self, item: Item, code: str, reasons: Sequence[str], made: Mapping[str, Any] | None = None
    ) -> Decision:
        """Decides that a step is tried again, or that an item is dropped if it was too often."""
        if item.tries + 1 >= self.plan.tries:
            return self.dropped(item, code, reasons, made)
        return Decision(
            item=item.id,
            verdict="again",
            to=item.step,
            code=code,
            reasons=tuple(reasons),
            made=dict(made or {}),
        )

    def back(
        self,
        item: Item,
        to: str,
        code: str,
        reasons: Sequence[str],
        made: Mapping[str, Any] | None = None,
    ) -> Decision:
        """Decides that an item is mended, or dropped if it was mended too often."""
        if item.round >= self.plan.rounds:
            return self.dropped(item, code, reasons, made)
        return Decision(
            item=item.id,
            verdict="back",
            to=to,
            code=code,
            reasons=tuple(reasons),
            made=dict(made or {}),
        )

    def dropped(
        self, item: Item, code: str, reasons: Sequence[str], made: Mapping[str, Any] | None = None
    ) -> Decision:
        """Decides that an item is given up."""
        return Decision(
            item=item.id,
            verdict="dropped",
            to=DROPPED,
            code=code,
            reasons=tuple(reasons),
            made=dict(made or {}),
        )

    def checked(
        self, item: Item, problems: Sequence[str], made: Mapping[str, Any] | None = None
    ) -> Decision:
        """Decides by the problems that checks found."""
        return self.again(item, "checks", problems) if problems else self.passed(item, made)

    def misshapen(self, item: Item, error: ValidationError) -> Decision:
        """Decides about what cannot be what it should be."""
        problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        return self.again(item, "schema", [problem])

    def opened(
        self, item: Item, made: Mapping[str, Any], letter: str, evidence: Sequence[int], to: str
    ) -> Decision:
        """Decides by the open-book reading: an item goes on, or back to be mended.

        Args:
            item: The item.
            made: Its readings, as far as they are new.
            letter: The right letter.
            evidence: The turns that decide.
            to: The step at which it is mended.
        """
        reading = {**item.made, **made}["readings"]["open"]
        code, reasons = held_against(reading, letter, evidence)
        return self.back(item, to, code, reasons, made) if code else self.passed(item, made)

    def once(
        self,
        fresh: Iterable[Item],
        known: Iterable[str],
        text: Callable[[Item], str],
        to: str,
        reason: str,
    ) -> list[Decision]:
        """Lets items pass whose text nobody has yet; the others go back, for a reason."""
        taken, out = {*known}, []
        for one in fresh:
            if text(one) in taken:
                out.append(self.back(one, to, "duplicate", [reason]))
            else:
                out.append(self.passed(one))
            taken.add(text(one))
        return out

    def shelf(self, item: Item, items: Sequence[Item]) -> tuple[str, ...]:
        """Returns the ids of the dialogues among which a reader picks, if there are any."""
        return ()

    @abstractmethod
    def parts(self, item: Item, ask: Ask, shelf: Sequence[str]) -> dict[str, str]:
        """Returns what a prompt is filled with."""

    @abstractmethod
    def decide(self, item: Item, replies: Replies, shelf: Sequence[str]) -> Decision:
        """Decides about an item by the replies of its step."""

    @abstractmethod
    def compare(
        self, step: str, fresh: Sequence[Item], others: Sequence[Item], embedder: Embedder | None
    ) -> list[Decision]:
        """Decides about the items of a step by comparing them with one another and the others."""

    @abstractmethod
    def product(self, item: Item) -> Product:
        """Returns what is released of an item."""


def lettered(options: Sequence[str]) -> str:
    """Writes options with their letters."""
    return "\n".join(f"{key}) {text}" for key, text in zip(LETTERS, options, strict=True))


def numbered(dialogue: Sequence[Mapping[str, str]], start: int = 0) -> str:
    """Writes a dialogue with the numbers of its turns."""
    return "\n".join(f"[{n}] {t['role']}: {t['content']}" for n, t in enumerate(dialogue, start))


def seen(made: Mapping[str, Any], ask: Ask) -> dict[str, str]:
    """Returns what a reader sees of what was made, and nothing else."""
    asked = {"question": made["question"], "options": lettered(made["options"])}
    return asked | ({"dialogue": numbered(made["dialogue"])} if ask is OPEN else {})


def held_against(
    reading: Mapping[str, Any], letter: str, evidence: Sequence[int]
) -> tuple[str, list[str]]:
    """Returns all that an open-book reading holds against an item: a code, and the reasons.

    Args:
        reading: The reading.
        letter: The right letter.
        evidence: The turns that decide.
    """
    found = OpenReading.model_validate({k: v for k, v in reading.items() if k != "of"})
    held = []
    if found.answer != letter:
        text = f"a reader who saw the dialogue chose {found.answer}, where {letter} is right"
        held.append(("open-wrong", text))
    if found.second and found.second not in (letter, found.answer):
        held.append(("ambiguous", f"a reader also found {found.second} defensible"))
    if found.flags:
        held.append((found.flags[0], f"a reader found it {', '.join(found.flags)}"))
    # Whoever chose otherwise decided by other turns, too.
    if found.answer == letter and found.evidence and not {*found.evidence} & {*evidence}:
        text = f"a reader decided by turns {found.evidence}, the marked evidence is {evidence}"
        held.append(("evidence", text))
    if not held:
        return "", []
    reasons = [text for _, text in held]
    if found.note:
        reasons[-1] += f" ({found.note})"
    return held[0][0], reasons
