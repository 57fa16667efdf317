"""What people decide about records: the lines of the journal."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from scaleqa.desk import Entry
from scaleqa.records.schema import Letter, Record

FILE = "decisions.jsonl"
# What a reviewer may do; `choose` is the blind answer, before the key is shown.
Action = Literal["choose", "accept", "edit", "reject", "second", "skip", "undo"]
# What decides a record. A reviewer who asks for a second opinion leaves it to others.
VERDICTS = ("accept", "edit", "reject")
FINAL = (*VERDICTS, "second")
Reason = Literal[
    "unanswerable",
    "several answers",
    "wrong evidence",
    "weak distractors",
    "shortcut",
    "duplicate",
    "unnatural",
    "other",
]
REASONS: dict[Reason, str] = {
    "unanswerable": "The dialogue does not determine the answer.",
    "several answers": "More than one option is correct.",
    "wrong evidence": "The marked turns are not the ones that decide.",
    "weak distractors": "A wrong option is ambiguous, or can be ruled out at once.",
    "shortcut": "The answer can be told without understanding the dialogue.",
    "duplicate": "Another record asks the same.",
    "unnatural": "Nobody would say or ask this.",
    "other": "Something else, which the note says.",
}


class Change(BaseModel):
    """A field that an edit changes.

    Attributes:
        field: Its name, such as `options.B` or `dialogue.3`.
        before: What it was; empty if it is new.
        after: What it is; empty if it is gone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    field: str
    before: str
    after: str


class Decision(Entry):
    """A line of the journal.

    Attributes:
        person: Who decided.
        record: The id of the record.
        action: What was done.
        choice: The letter that was chosen blindly, of `choose`.
        reason: Why it is rejected, of `reject`.
        note: What the person added.
        edited: The record as it should be, of `edit`.
        changes: How it differs from the record as it was, of `edit`.
        undoes: The id of the decision that is taken back, of `undo`.
    """

    person: str
    record: str
    action: Action
    choice: Letter | None = None
    reason: Reason | None = None
    note: str = ""
    edited: Record | None = None
    changes: tuple[Change, ...] = ()
    undoes: str | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        for action, value in (
            ("choose", self.choice),
            ("reject", self.reason),
            ("edit", self.edited),
            ("undo", self.undoes),
        ):
            if (value is not None) != (self.action == action):
                raise ValueError(f"{self.action} does not fit what it comes with")
        return self

    @property
    def verdict(self) -> str:
        """What must be equal for two people to agree: edits that differ do not."""
        return self.action if self.edited is None else self.edited.model_dump_json()
