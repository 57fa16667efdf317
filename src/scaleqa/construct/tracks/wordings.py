"""Second wordings of given records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from scaleqa.construct.item import Decision, Item
from scaleqa.construct.replies import Picked, Worded
from scaleqa.construct.tracks.shelves import draw_shelf, shelved
from scaleqa.construct.tracks.track import (
    OPEN,
    Ask,
    Replies,
    Step,
    Track,
    lettered,
    numbered,
)
from scaleqa.records import wordings
from scaleqa.records.schema import Wording
from scaleqa.records.validate import memory_probe
from tsim.embed import Embedder

WORDING = Ask(name="wording", who="writer", template="wording.v1", reply=Worded)
PICK = Ask(name="pick", who="reader", template="pick.v1", reply=Picked)


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
            return self.checked(item, problems, {"question": asked})
        made, record = self.kept(item, replies), self.given[item.id]
        if "pick" in replies:
            pick = replies["pick"].pick
            place = shelf[pick - 1] if 1 <= pick <= len(shelf) else None
            if place != item.id:
                reason = "a reader took another dialogue to be meant; say more of the matter"
                return self.back(item, "wording", "picked-wrong", [reason], made)
        return self.opened(item, made, record.answer, record.evidence, "wording")

    def compare(
        self, step: str, fresh: Sequence[Item], others: Sequence[Item], embedder: Embedder | None
    ) -> list[Decision]:
        """Finds wordings that occur twice."""

        def text(one: Item) -> str:
            return str(one.made["question"]).lower()

        known = [text(one) for one in others if "question" in one.made]
        return self.once(
            fresh, known, text, "wording", "another record has the same second wording"
        )

    def product(self, item: Item) -> Wording:
        """Returns the second wording."""
        return Wording(id=item.id, question=item.made["question"])
