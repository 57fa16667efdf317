"""Edits: a record as the fields of a form, and back; what changed, word by word."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pydantic import ValidationError

from scaleqa.records.schema import LETTERS, Record
from scaleqa.records.validate import Finding, validate
from scaleqa.review.decisions import Change

PLACE = re.compile(r"[0-9]{1,6}")
WORD = re.compile(r"\s+|\w+|[^\w\s]")
# Fields that are one text each.
TEXTS = ("question", "reasoning", *(f"options.{letter}" for letter in LETTERS))
ROLES = ("user", "model")
# Texts that are less alike are shown one after the other, not woven into each other.
ALIKE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What is in the fields of a form.

    Attributes:
        texts: The fields of one text each, by name.
        turns: The texts of the turns.
        answer: The letter.
        evidence: Places of the turns that are marked.
        labels: The stress labels.
        primary: The primary one.
    """

    texts: Mapping[str, str]
    turns: tuple[str, ...]
    answer: str
    evidence: tuple[str, ...]
    labels: tuple[str, ...]
    primary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What is to be said about a draft.

    Attributes:
        record: The record that it is; None if it is none.
        problems: What keeps it from being kept.
        warnings: What should be looked at.
        changes: How it differs from the record as it was.
    """

    record: Record | None
    problems: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


def draft_of(record: Record) -> Draft:
    """Returns a record as the fields of a form."""
    return Draft(
        texts={name: value for name, value in flat(record).items() if name in TEXTS},
        turns=tuple(turn.content for turn in record.dialogue),
        answer=record.answer,
        evidence=tuple(map(str, record.evidence)),
        labels=tuple(record.stress.labels),
        primary=record.stress.primary,
    )


def read_draft(text: Callable[[str], str], several: Callable[[str], Sequence[str]]) -> Draft:
    """Reads a draft from a form.

    Args:
        text: Returns a field, empty if it is missing.
        several: Returns all values of a field.
    """
    turns: list[str] = []
    while several(name := f"dialogue.{len(turns)}"):
        turns.append(text(name))
    while turns and not turns[-1].strip():  # fields for turns that were not added
        turns.pop()
    return Draft(
        texts={name: text(name) for name in TEXTS},
        turns=tuple(turns),
        answer=text("answer"),
        evidence=tuple(several("evidence")),
        labels=tuple(several("labels")),
        primary=text("primary"),
    )


def check(draft: Draft, before: Record) -> Checked:
    """Checks a draft by the schema and the validator.

    A finding that breaks the benchmark is a problem, unless the record had it before.
    """
    was = flat(before)

    def kept(name: str, text: str) -> str:
        """Returns a text; line breaks that browsers write in their own way are as they were."""
        there = was.get(name, "")
        return there if there.replace("\r\n", "\n").replace("\r", "\n") == text else text

    value = {
        "id": before.id,
        "split": before.split,
        "domain": before.domain,
        "dialogue": [
            {"role": ROLES[n % len(ROLES)], "content": kept(f"dialogue.{n}", text)}
            for n, text in enumerate(draft.turns)
        ],
        "question": kept("question", draft.texts["question"]),
        "options": {
            letter: kept(name, draft.texts[name])
            for letter in LETTERS
            for name in [f"options.{letter}"]
        },
        "answer": draft.answer,
        "evidence": sorted({int(one) for one in draft.evidence if PLACE.fullmatch(one)}),
        "reasoning": kept("reasoning", draft.texts["reasoning"]),
        "stress": {"labels": _ordered(draft.labels, before), "primary": draft.primary},
    }
    try:
        record = Record.model_validate(value)
    except ValidationError as error:
        return Checked(record=None, problems=tuple(map(_problem, error.errors(include_url=False))))
    known = {_said(finding) for finding in validate([before]).critical}
    report = validate([record])
    changes = changed(before, record)
    problems = [_said(one) for one in report.critical if _said(one) not in known]
    if not changes:
        problems.append("nothing was changed; accept the record instead")
    return Checked(
        record=record,
        problems=tuple(problems),
        warnings=tuple(_said(finding) for finding in report.warnings),
        changes=changes,
    )


def flat(record: Record) -> dict[str, str]:
    """Returns the fields of a record as texts, by name."""
    return {
        **{f"dialogue.{n}": turn.content for n, turn in enumerate(record.dialogue)},
        "question": record.question,
        **{f"options.{letter}": record.option(letter) for letter in LETTERS},
        "answer": record.answer,
        "evidence": ", ".join(map(str, record.evidence)),
        "reasoning": record.reasoning,
        "stress.labels": ", ".join(record.stress.labels),
        "stress.primary": record.stress.primary,
    }


def changed(before: Record, after: Record) -> tuple[Change, ...]:
    """Returns the fields in which two versions of a record differ."""
    old, new = flat(before), flat(after)
    return tuple(
        Change(field=name, before=old.get(name, ""), after=new.get(name, ""))
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name)
    )


def pieces(change: Change) -> list[tuple[str, str]]:
    """Returns a change as pieces of text that are `same`, `gone` or `new`."""
    old, new = WORD.findall(change.before), WORD.findall(change.after)
    found: list[tuple[str, str]] = []
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    if matcher.ratio() < ALIKE:
        parts = (("gone", change.before), ("new", change.after))
        return [(what, text) for what, text in parts if text]
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind == "equal":
            found.append(("same", "".join(old[first:last])))
            continue
        found += [
            (what, "".join(words))
            for what, words in (("gone", old[first:last]), ("new", new[start:end]))
            if words
        ]
    return found


def _ordered(labels: Sequence[str], before: Record) -> list[str]:
    """Returns labels in the order that they had, which a form does not know."""
    had: list[str] = [*before.stress.labels]
    return sorted(labels, key=lambda label: had.index(label) if label in had else len(had))


def _problem(error: object) -> str:
    assert isinstance(error, Mapping)  # noqa: S101  # pydantic's
    where = ".".join(str(part) for part in error["loc"])
    said = str(error["msg"]).removeprefix("Value error, ")
    return f"{where}: {said}" if where else said


def _said(finding: Finding) -> str:
    return f"{finding.code}: {finding.message}"
