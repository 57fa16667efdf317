"""What the forms of the desk say."""

from dataclasses import dataclass

from pydantic import ValidationError

from scaleqa.desk import ID, Visit
from scaleqa.desk.journal import now
from scaleqa.errors import DataError, InvalidError
from scaleqa.records.schema import Record
from scaleqa.review.decisions import Decision
from scaleqa.review.editing import Checked, Draft, check, read_draft

MOST_NOTE = 4_000
# What is written behind the colon of a verdict: `reject:duplicate`.
MORE = {"choose": "choice", "reject": "reason", "undo": "undoes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A decision that was sent, and the version that its form was made for."""

    decision: Decision
    version: int


def read_edit(visit: Visit, record: Record) -> tuple[Draft, Checked]:
    """Reads an edit, and checks it."""
    draft = read_draft(visit.text, visit.form.getlist)
    return draft, check(draft, record)


def read_decision(visit: Visit, record: Record) -> Sent:
    """Reads a decision.

    Raises:
        InvalidError: Something is missing in it, which its page says.
        DataError: It is not from a page of ours.
    """
    verdict, _, more = visit.text("verdict").partition(":")
    note = visit.text("note").strip()
    if len(note) > MOST_NOTE:
        raise InvalidError(f"the note has {len(note):,} characters; at most {MOST_NOTE:,}")
    if verdict == "reject" and more == "other" and not note:
        raise InvalidError("say in the note why it is rejected, or choose one of the reasons")
    fields: dict[str, object] = {}
    if verdict == "edit":
        _, checked = read_edit(visit, record)
        if checked.record is None or checked.problems:
            raise InvalidError("the edit was not kept: " + "; ".join(checked.problems))
        fields = {"edited": checked.record, "changes": checked.changes}
    elif verdict in MORE:
        fields = {MORE[verdict]: more}
    if not ID.fullmatch(visit.text("id")):
        raise DataError("the form has no id; load the page again")
    about = {"person": visit.person.name, "record": record.id, "action": verdict, "note": note}
    try:
        decision = Decision.model_validate({"id": visit.text("id"), "at": now(), **about, **fields})
    except ValidationError:
        said = visit.text("verdict")
        raise DataError(f"{said!r:.60} is no decision; load the page again") from None
    return Sent(decision=decision, version=whole(visit.text("version", "0")))


def whole(written: str) -> int:
    """Reads a whole number of an address or a form.

    Raises:
        DataError: It is something else.
    """
    if not (written.isascii() and written.isdigit() and len(written) < 10):
        raise DataError(f"{written!r:.40} is no number; go back to your list")
    return int(written)
