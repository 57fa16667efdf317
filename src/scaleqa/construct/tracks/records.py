"""Records, in two orders of work: options first, or dialogue first as in the paper."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import ValidationError

from scaleqa.construct import checks
from scaleqa.construct.item import Decision, Item
from scaleqa.construct.normalise import normalised
from scaleqa.construct.replies import (
    Asked,
    Checked,
    Options,
    Realised,
    Scenario,
    Told,
)
from scaleqa.construct.tracks.track import (
    CLOSED,
    OPEN,
    Ask,
    Replies,
    Step,
    Track,
    lettered,
    numbered,
    seen,
)
from scaleqa.records.draw import letter, seal
from scaleqa.records.schema import LETTERS, Record
from tsim.embed import Embedder

SCENARIO = Ask(name="scenario", who="writer", template="scenario.v1", reply=Scenario)
QUESTION = Ask(name="question", who="writer", template="question.v1", reply=Asked)
DIALOGUE = Ask(name="dialogue", who="writer", template="dialogue.v1", reply=Told)
CHECK = Ask(name="check", who="writer", template="check.v1", reply=Checked)
REALISE = Ask(name="realise", who="writer", template="realise.v1", reply=Realised)
DISTRACTORS = Ask(name="distractors", who="writer", template="distractors.v1", reply=Options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Records(Track):
    """What both orders have in common."""

    # Where an item goes back to if its dialogue is at fault.
    mended: ClassVar[str]

    def parts(self, item: Item, ask: Ask, shelf: Sequence[str]) -> dict[str, str]:
        """Returns what a prompt is filled with; readers get nothing but what they are to see."""
        made = item.made
        if ask.who == "reader":
            return seen(made, ask)
        domain = self.plan.domain(item.domain)
        known = {
            "domain": domain.name,
            "about": domain.about or domain.name,
            "language": self.plan.language,
            "scenario": made.get("scenario", ""),
            "question": made.get("question", ""),
            "options": lettered(made["options"]) if "options" in made else "",
            "letter": made.get("letter", ""),
            "dialogue": numbered(made["dialogue"]) if "dialogue" in made else "",
            "evidence": str(made.get("evidence", "")),
        }
        return {**item.lots, "seeds": item.lots["seeds"] or "- (none)", **known}

    def decide(self, item: Item, replies: Replies, shelf: Sequence[str]) -> Decision:
        """Decides by the replies of a step."""
        if item.step == "read":
            return self._read(item, replies)
        reply = replies[item.step]
        if item.step == "scenario":
            return self.passed(item, {"scenario": reply.scenario})
        return self._written(item, reply)

    def _written(self, item: Item, reply: Any) -> Decision:
        raise NotImplementedError

    def _read(self, item: Item, replies: Replies) -> Decision:
        made = self.kept(item, replies)
        right, evidence = item.made["letter"], item.made["evidence"]
        return self.opened(item, made, right, evidence, self.mended)

    def _told(self, item: Item, made: dict[str, Any]) -> Decision:
        """Checks a record as it would be with new parts."""
        try:
            record = self._record(item, {**item.made, **made})
        except ValidationError as error:
            return self.misshapen(item, error)
        problems = checks.record_problems(record)
        return self.checked(item, problems, made)

    def compare(
        self, step: str, fresh: Sequence[Item], others: Sequence[Item], embedder: Embedder | None
    ) -> list[Decision]:
        """Compares dialogues: near-duplicates, and names that questions of others use."""
        everyone = [*others, *fresh]
        told = {one.id: self.product(one) for one in everyone if "dialogue" in one.made}
        names = [one.id for one in fresh]
        found = checks.twins(names, {n: r.text for n, r in told.items()}, "dialogue", embedder)
        clashing = checks.intruding(
            names,
            {one.id: one.made["question"] for one in everyone if "question" in one.made},
            {name: f"{record.question}\n{record.text}" for name, record in told.items()},
        )
        out = []
        for one in fresh:
            if one.id in found:
                out.append(self.back(one, self.mended, "duplicate", found[one.id]))
            elif one.id in clashing:
                out.append(self.back(one, self.mended, "name", clashing[one.id]))
            else:
                out.append(self.passed(one))
        return out

    def product(self, item: Item) -> Record:
        """Returns the record."""
        return self._record(item, item.made)

    def _record(self, item: Item, made: Mapping[str, Any]) -> Record:
        fields = {key: made[key] for key in ("question", "dialogue", "evidence", "reasoning")}
        return Record.model_validate_json(
            json.dumps(
                {
                    "id": item.id,
                    "split": self.plan.split,
                    "domain": item.domain,
                    **fields,
                    "options": dict(zip(LETTERS, made["options"], strict=True)),
                    "answer": made["letter"],
                    "stress": made["stress"],
                }
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsFirst(Records):
    """Question and options are frozen, the letter is drawn, and the dialogue is written last."""

    steps: ClassVar[tuple[Step, ...]] = (
        Step(name="scenario", asks=(SCENARIO,)),
        Step(name="question", asks=(QUESTION,)),
        Step(name="freeze"),
        Step(name="dialogue", asks=(DIALOGUE,)),
        Step(name="check", asks=(CHECK,)),
        Step(name="compare"),
        Step(name="read", asks=(OPEN, CLOSED)),
    )
    mended: ClassVar[str] = "dialogue"

    def _written(self, item: Item, reply: Any) -> Decision:
        if item.step == "question":
            problems = checks.question_problems(reply.question, reply.options)
            made = {"question": reply.question, "options": reply.options}
            return self.checked(item, problems, made)
        if item.step == "dialogue":
            return self._told(item, reply.model_dump())
        if reply.problems:
            return self.back(item, "dialogue", "self-check", reply.problems)
        return self.passed(item)

    def compare(
        self, step: str, fresh: Sequence[Item], others: Sequence[Item], embedder: Embedder | None
    ) -> list[Decision]:
        """Compares questions before letters are drawn, and dialogues later."""
        if step != "freeze":
            return Records.compare(self, step, fresh, others, embedder)
        asked = {one.id: one.made["question"] for one in others if "seal" in one.made}
        asked |= {one.id: one.made["question"] for one in fresh}
        names = [one.id for one in fresh]
        found = checks.twins(names, asked, "question", embedder)
        said = {one.id: said_by(one) for one in (*others, *fresh) if one.id in asked}
        clashing = checks.taken(names, asked, said)
        out = []
        for one in fresh:
            if one.id in found:
                out.append(self.back(one, "question", "duplicate", found[one.id]))
            elif one.id in clashing:
                out.append(self.back(one, "question", "name", clashing[one.id]))
            else:
                out.append(self.passed(one, frozen(self, one)))
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueFirst(Records):
    """The paper's order: dialogue and question together, then distractors, then filters."""

    steps: ClassVar[tuple[Step, ...]] = (
        Step(name="scenario", asks=(SCENARIO,)),
        Step(name="realise", asks=(REALISE,)),
        Step(name="distractors", asks=(DISTRACTORS,)),
        Step(name="compare"),
        Step(name="read", asks=(OPEN, CLOSED)),
    )
    mended: ClassVar[str] = "realise"

    def _written(self, item: Item, reply: Any) -> Decision:
        if item.step == "realise":
            drawn = letter(item.id, self.plan.cells)
            made = normalised(reply, drawn, random.Random(f"{self.plan.seed}:{item.id}:options"))
        else:
            made = {"options": [option.strip() for option in reply.options]}
        whole = {**item.made, **made}
        problems = checks.question_problems(whole["question"], whole["options"])
        return self.again(item, "checks", problems) if problems else self._told(item, made)

    def _read(self, item: Item, replies: Replies) -> Decision:
        found = Records._read(self, item, replies)
        guess = {**item.made, **found.made}["readings"]["closed"]["answer"]
        if found.verdict != "passed" or guess != item.made["letter"]:
            return found
        reason = (
            "a reader without the dialogue chose the right option; make the others as attractive"
        )
        return self.back(item, "distractors", "closed-right", [reason], found.made)


def said_by(item: Item) -> str:
    """Returns all that an item says so far."""
    turns = [turn["content"] for turn in item.made.get("dialogue", ())]
    return "\n".join([item.made["question"], *turns])


def frozen(track: Track, item: Item) -> dict[str, Any]:
    """Draws the letter of a frozen question."""
    drawn = letter(item.id, track.plan.cells)
    return {"letter": drawn, "seal": seal(item.made["question"], item.made["options"])}
