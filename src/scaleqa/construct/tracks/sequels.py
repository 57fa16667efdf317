"""Sequels of given records: the new letter by lot, then a later dialogue that makes it right."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import ValidationError

from scaleqa.construct.item import Decision, Item
from scaleqa.construct.lots import other_letter
from scaleqa.construct.replies import Continued, OpenReading
from scaleqa.construct.tracks.track import (
    Ask,
    Replies,
    Step,
    Track,
    lettered,
    numbered,
)
from scaleqa.records import sequels
from scaleqa.records.schema import Sequel
from tsim.embed import Embedder

SEQUEL = Ask(name="sequel", who="writer", template="sequel.v1", reply=Continued)
OPEN = Ask(name="open", who="reader", template="sequel-open.v1", reply=OpenReading)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequels(Track):
    """Later dialogues after which another option is right."""

    steps: ClassVar[tuple[Step, ...]] = (
        Step(name="sequel", asks=(SEQUEL,)),
        Step(name="compare"),
        Step(name="read", asks=(OPEN,)),
    )

    def parts(self, item: Item, ask: Ask, shelf: Sequence[str]) -> dict[str, str]:
        """Returns what a prompt is filled with; a reader's later turns go on counting."""
        record = self.given[item.id]
        turns = [turn.model_dump() for turn in record.dialogue]
        known = {"question": record.question, "options": lettered(record.options.as_list())}
        if ask is OPEN:
            later = numbered(item.made["dialogue"], len(turns))
            return {**known, "dialogue": numbered(turns), "later": later}
        return {
            **known,
            "dialogue": numbered(turns),
            "letter": other_letter(self.plan, record),
            "named": "must" if item.lots["named"] == "yes" else "must not",
            "language": self.plan.language,
        }

    def decide(self, item: Item, replies: Replies, shelf: Sequence[str]) -> Decision:
        """Decides by the replies of a step."""
        record = self.given[item.id]
        if item.step == "sequel":
            made = replies["sequel"].model_dump()
            try:
                sequel = self._sequel(item, made)
            except ValidationError as error:
                return self.misshapen(item, error)
            problems = [text for _, text in sequels.problems([sequel], [record])]
            return self.checked(item, problems, made)
        made = self.kept(item, replies)
        sequel, turns = self.product(item), len(record.dialogue)
        needed = [*sequel.keeps, *(turns + place for place in sequel.evidence)]
        return self.opened(item, made, sequel.answer, needed, "sequel")

    def compare(
        self, step: str, fresh: Sequence[Item], others: Sequence[Item], embedder: Embedder | None
    ) -> list[Decision]:
        """Finds sequels that occur twice."""

        def text(one: Item) -> str:
            return self.product(one).text

        known = [text(one) for one in others if "dialogue" in one.made]
        return self.once(fresh, known, text, "sequel", "another record has the same sequel")

    def product(self, item: Item) -> Sequel:
        """Returns the sequel."""
        return self._sequel(item, item.made)

    def _sequel(self, item: Item, made: Mapping[str, Any]) -> Sequel:
        fields = {key: made[key] for key in ("dialogue", "evidence", "keeps", "reasoning")}
        return Sequel.model_validate_json(
            json.dumps(
                {
                    "id": item.id,
                    "named": item.lots["named"] == "yes",
                    **fields,
                    "answer": other_letter(self.plan, self.given[item.id]),
                }
            )
        )
