"""Exports: a receipt for each record, the records that were accepted or edited, a summary."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from scaleqa.desk import read_entries
from scaleqa.errors import DataError
from scaleqa.records.schema import Letter, Record
from scaleqa.review.decisions import FILE, Change, Decision
from scaleqa.review.settings import Matter, content_of, load
from scaleqa.review.standings import Standings, State, replay
from scaleqa.review.summary import Summary, summarise
from tsim import private, unfinished

RECEIPTS, KEPT, SUMMARY = "receipts.jsonl", "records.jsonl", "summary.json"


class Opinion(BaseModel):
    """What one person decided about a record."""

    model_config = ConfigDict(frozen=True)

    person: str
    decision: str
    at: str
    action: str
    choice: Letter | None
    reason: str | None
    note: str
    changes: tuple[Change, ...]


class Receipt(BaseModel):
    """What became of a record.

    Attributes:
        id: The id of the record.
        before: sha256 of the record as it was.
        state: Whether it is open, agreed, disputed or settled.
        outcome: What was decided; None if it is open or disputed.
        after: sha256 of the record as it is exported; None if it is not.
        opinions: What everybody decided, the adjudicator last.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    before: str
    state: State
    outcome: str | None
    after: str | None
    opinions: tuple[Opinion, ...]


def export_review(directory: Path, out: Path) -> Summary:
    """Writes what a review came to, so far; it may be going on.

    Args:
        directory: The directory of the review.
        out: The directory for the files.

    Raises:
        DataError: There is no review, or its files were changed.
    """
    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is no directory; choose another --out")
    if out.resolve() == directory.resolve():
        raise DataError(f"{out} holds the review itself; choose another --out")
    matter = load(directory)
    journal = directory / FILE
    decisions = read_entries(journal, Decision) if journal.exists() else []
    standings = replay(matter.ids, matter.settings, decisions)
    receipts = [_receipt(record, matter, standings) for record in matter.records]
    kept = [after for record in matter.records if (after := _after(record, standings))]
    summary = summarise(matter.records, matter.settings, standings)
    private.make_directory(out)
    _write(out / RECEIPTS, b"".join(one.model_dump_json().encode() + b"\n" for one in receipts))
    _write(out / KEPT, content_of(kept))
    _write(out / SUMMARY, summary.model_dump_json(indent=1).encode() + b"\n")
    return summary


def _receipt(record: Record, matter: Matter, standings: Standings) -> Receipt:
    standing = standings.of(record.id)
    after = _after(record, standings)
    return Receipt(
        id=record.id,
        before=_hash(record),
        state=standing.state,
        outcome=standing.decision.action if standing.decision else None,
        after=_hash(after) if after else None,
        opinions=tuple(_opinions(record.id, matter, standings)),
    )


def _after(record: Record, standings: Standings) -> Record | None:
    """Returns a record as it is exported, if it is."""
    decision = standings.of(record.id).decision
    if decision is None or decision.action == "reject":
        return None
    return decision.edited or record


def _opinions(record: str, matter: Matter, standings: Standings) -> Sequence[Opinion]:
    adjudicator = matter.settings.adjudicator
    people = [*standings.of(record).judges, *([adjudicator] if adjudicator else [])]
    found = []
    for person in people:
        sheet = standings.sheet(person, record)
        final = sheet.final
        if final:
            found.append(
                Opinion(
                    person=person,
                    decision=final.id,
                    at=final.at,
                    action=final.action,
                    choice=sheet.choice.choice if sheet.choice else None,
                    reason=final.reason,
                    note=final.note,
                    changes=final.changes,
                )
            )
    return found


def _hash(record: Record) -> str:
    return hashlib.sha256(record.model_dump_json().encode()).hexdigest()


def _write(path: Path, content: bytes) -> None:
    with unfinished.replacing(path) as part:
        part.file.write(content)
