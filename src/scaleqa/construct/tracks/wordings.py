"""Second wordings of given records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from scaleqa.construct.item import Decision, Item
from scaleqa.construct.replies import OpenReading, Picked, Worded
from scaleqa.construct.tracks.shelves import draw_shelf, shelved
from scaleqa.construct.tracks.track import (
    Ask,
    Replies,
    Step,
    Track,
    held_against,
    lettered,
    numbered,
)
from scaleqa.records import wordings
from scaleqa.records.schema import Wording
from scaleqa.records.validate import memory_probe
from tsim.embed import Embedder

WORDING = Ask(name="wording", who="writer", template="wording.v1", reply=Worded)
PICK = Ask(name="pick", who="reader", template="pick.v1", reply=Picked)
OPEN = Ask(name="open", who="reader", template="open.v1", reply=OpenReading)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wordings(Track):
    """The same request, as people come back to a matter."""

    steps: ClassVar[tuple[Step, ...]] = (
        Step(name="wording", asks=(WORDING,)),
        Step(name="compare"),
        Step(name="read", asks=(PICK, OPEN)),
    )

    def shelf(self, item: Item, items: Sequence[Item]) -> tuple[str, ...]:
        """Returns up to twenty records of the domain, the own one among them."""
        pool = [record.id for record in self.given.values() if record.domain == item.domain]
        return draw_shelf(self.plan.seed, item.id, pool)

    def parts(self, item: Item, ask: Ask, shelf: Sequence[str]) -> dict[str, str]:
        """Returns what a prompt is filled with."""
        record = self.given[item.id]
        dialogue = numbered([turn.model_dump() for turn in record.dialogue])
        options = lettered(record.options.as_list())
        if ask is PICK:
            told = {
                one: "\n".join(f"{t.role}: {t.content}" for t in self.given[one].dialogue)
                for one in shelf
            }
            return {"question": item.made["question"], "dialogues": shelved(told, shelf)}
        if ask is OPEN:
            asked = item.made["question"]
            return {"question": asked, "options": options, "dialogue": dialogue}
        return {
            "dialogue": dialogue,
            "question": record.question,
            "options": options,
            "language": self.plan.language,
            "voice": item.lots["voice"],
        }

    def decide(self, item: Item, replies: Replies, shelf: Sequence[str]) -> Decision:
        """Decides by the replies of a step."""
        if item.step == "wording":
            asked = replies["wording"].question
            problems = [one.message for one in memory_probe(item.id, asked)]
            fresh = [Wording(id=item.id, question=asked)]
            problems += [text for _, text in wordings.problems(fresh, [*self.given.values()])]
            if problems:
                return self.again(item, "checks", problems)
            return self.passed(item, {"question": asked})
        made, record = self.kept(item, replies), self.given[item.id]
        if "pick" in replies:
            pick = replies["pick"].pick
            place = shelf[pick - 1] if 1 <= pick <= len(shelf) else None
            if place != item.id:
                reason = "a reader took another dialogue to be meant; say more of the matter"
                return self.back(item, "wording", "picked-wrong", [reason], made)
        code, reasons = held_against(
            {**item.made, **made}["readings"]["open"], record.answer, record.evidence
        )
        if code:
            return self.back(item, "wording", code, reasons, made)
        return self.passed(item, made)

    def compare(
        self, step: str, fresh: Sequence[Item], others: Sequence[Item], embedder: Embedder | None
    ) -> list[Decision]:
        """Finds wordings that occur twice."""
        known = {one.made["question"].lower() for one in others if "question" in one.made}
        out = []
        for one in fresh:
            text = one.made["question"].lower()
            if text in known:
                reason = "another record has the same second wording"
                out.append(self.back(one, "wording", "duplicate", [reason]))
            else:
                out.append(self.passed(one))
            known.add(text)
        return out

    def product(self, item: Item) -> Wording:
        """Returns the second wording."""
        return Wording(id=item.id, question=item.made["question"])
