"""Asides: facts told in passing. Options first, the letter by lot, the dialogue last."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import ValidationError

from scaleqa.construct import checks
from scaleqa.construct.item import Decision, Item
from scaleqa.construct.replies import Asked, ToldInPassing
from scaleqa.construct.tracks.records import frozen
from scaleqa.construct.tracks.track import (
    CLOSED,
    OPEN,
    Ask,
    Replies,
    Step,
    Track,
    lettered,
    seen,
)
from scaleqa.records import asides
from scaleqa.records.schema import LETTERS, Aside
from scaleqa.records.validate import phrasing
from tsim.embed import Embedder

QUESTION = Ask(name="question", who="writer", template="aside-question.v1", reply=Asked)
DIALOGUE = Ask(name="dialogue", who="writer", template="aside-dialogue.v1", reply=ToldInPassing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asides(Track):
    """Facts told in passing."""

    steps: ClassVar[tuple[Step, ...]] = (
        Step(name="question", asks=(QUESTION,)),
        Step(name="freeze"),
        Step(name="dialogue", asks=(DIALOGUE,)),
        Step(name="compare"),
        Step(name="read", asks=(OPEN, CLOSED)),
    )

    def parts(self, item: Item, ask: Ask, shelf: Sequence[str]) -> dict[str, str]:
        """Returns what a prompt is filled with."""
        made = item.made
        if ask.who == "reader":
            return seen(made, ask)
        return {
            **item.lots,
            "seeds": item.lots["seeds"] or "- (none)",
            "language": self.plan.language,
            "question": made.get("question", ""),
            "options": lettered(made["options"]) if "options" in made else "",
            "letter": made.get("letter", ""),
        }

    def decide(self, item: Item, replies: Replies, shelf: Sequence[str]) -> Decision:
        """Decides by the replies of a step."""
        if item.step == "question":
            reply = replies["question"]
            problems = checks.question_problems(reply.question, reply.options)
            made = {"question": reply.question, "options": reply.options}
            return self.checked(item, problems, made)
        if item.step == "dialogue":
            return self._told(item, replies["dialogue"].model_dump())
        made = self.kept(item, replies)
        right, evidence = item.made["letter"], item.made["evidence"]
        return self.opened(item, made, right, evidence, "dialogue")

    def _told(self, item: Item, made: dict[str, Any]) -> Decision:
        try:
            aside = self._aside(item, {**item.made, **made})
        except ValidationError as error:
            return self.misshapen(item, error)
        problems = [problem for _, problem in asides.problems([aside], self.plan.cells)]
        problems += [finding.message for finding in phrasing(aside)] + checks.leaks(aside)
        return self.checked(item, problems, made)

    def compare(
        self, step: str, fresh: Sequence[Item], others: Sequence[Item], embedder: Embedder | None
    ) -> list[Decision]:
        """Compares questions before letters are drawn, and dialogues later."""
        names = [one.id for one in fresh]
        if step == "freeze":
            asked = {one.id: one.made["question"] for one in others if "seal" in one.made}
            asked |= {one.id: one.made["question"] for one in fresh}
            found = checks.twins(names, asked, "question", embedder)
            return [
                self.back(one, "question", "duplicate", found[one.id])
                if one.id in found
                else self.passed(one, frozen(self, one))
                for one in fresh
            ]
        told = {one.id: self.product(one).text for one in others if "dialogue" in one.made}
        told |= {one.id: self.product(one).text for one in fresh}
        found = checks.twins(names, told, "dialogue", embedder)
        return [
            self.back(one, "dialogue", "duplicate", found[one.id])
            if one.id in found
            else self.passed(one)
            for one in fresh
        ]

    def product(self, item: Item) -> Aside:
        """Returns the aside."""
        return self._aside(item, item.made)

    def _aside(self, item: Item, made: Mapping[str, Any]) -> Aside:
        fields = {key: made[key] for key in ("question", "dialogue", "evidence", "reasoning")}
        return Aside.model_validate_json(
            json.dumps(
                {
                    "id": item.id,
                    "split": self.plan.split,
                    **fields,
                    "options": dict(zip(LETTERS, made["options"], strict=True)),
                    "answer": made["letter"],
                    "kind": item.lots["kind"],
                    "fact": made["fact"],
                    "inference": item.lots["inference"] == "yes",
                }
            )
        )
