"""The pages of the review desk: what they show, and what their forms do."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from pydantic import ValidationError
from starlette.responses import Response

from scaleqa.desk import ID, Desk, Journal, Page, People, Person, Visit, new_id
from scaleqa.desk.journal import now
from scaleqa.errors import DataError, InvalidError
from scaleqa.records.schema import LETTERS, Record, StressLabel
from scaleqa.review.beside import Shelf
from scaleqa.review.decisions import REASONS, Decision
from scaleqa.review.editing import check, draft_of, flat, pieces, read_draft
from scaleqa.review.settings import Matter
from scaleqa.review.standings import counts, replay

REVIEWER, ADJUDICATOR = "reviewer", "adjudicator"
PAGE = 100
MOST_NOTE = 4_000
DONE = {
    "choose": "Chosen",
    "accept": "Accepted",
    "edit": "Edited",
    "reject": "Rejected",
    "second": "Left to a second opinion",
    "skip": "Put off",
    "undo": "Taken back",
}


class ConflictError(InvalidError):
    """Something was decided since a form was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """A decision that was sent, and the version that its form was made for."""

    decision: Decision
    version: int


class Room:
    """Answers the requests of reviewers and of the adjudicator."""

    def __init__(self, matter: Matter, journal: Journal[Decision], shelf: Shelf) -> None:
        """Begins with the decisions of the journal.

        Args:
            matter: What is reviewed, and by whom.
            journal: The decisions.
            shelf: What stands beside the records.

        Raises:
            DataError: The journal is not one about these records.
        """
        self._matter = matter
        self._journal = journal
        self._shelf = shelf
        self._lock = threading.RLock()
        self._numbers = {name: number for number, name in enumerate(matter.ids, 1)}
        self._standings = replay(matter.ids, matter.settings, journal.entries)

    def desk(self, people: People) -> Desk:
        """Returns the desk of this review."""
        return Desk(
            title="Review",
            people=people,
            package="scaleqa.review",
            filters={"pieces": pieces},
            pages=(
                Page(path="/", handler=self.home),
                Page(path="/records", handler=self.listing),
                Page(path="/records/{number}", handler=self.record),
                Page(path="/records/{number}/edit", handler=self.edit),
                Page(path="/records/{number}/check", handler=self.check, method="POST"),
                Page(path="/records/{number}", handler=self.decide, method="POST"),
                Page(path="/next", handler=self.next),
            ),
        )

    def home(self, visit: Visit) -> Response:
        """Shows how far somebody is."""
        name = visit.person.name
        with self._lock:
            waiting = self._standings.waiting(name)
            mine = self._standings.mine(name)
            states = counts(self._standings, self._matter.ids)
        return visit.page(
            "home.html",
            waiting=len(waiting),
            mine=len(mine),
            states=states,
            records=len(self._matter.records),
            reasons=REASONS,
            blind=self._matter.settings.blind,
            adjudicates=visit.person.role == ADJUDICATOR,
        )

    def next(self, visit: Visit) -> Response:
        """Leads to the next record that waits, or home if none does."""
        with self._lock:
            waiting = self._standings.waiting(visit.person.name)
        return visit.to(f"/records/{self._number(waiting[0])}" if waiting else "/")

    def listing(self, visit: Visit) -> Response:
        """Lists the records of somebody, a hundred at a time."""
        name, show = visit.person.name, visit.text("show", "all")
        words = visit.text("find").strip().lower()
        with self._lock:
            rows = []
            for record in self._standings.mine(name):
                sheet = self._standings.sheet(name, record)
                done = "done" if sheet.final else "put off" if sheet.current else "open"
                number = self._number(record)
                if show in ("all", done) and self._found(number, words):
                    rows.append((number, self._matter.records[number - 1], sheet, done))
        first = max(0, _whole(visit.text("first", "0")))
        return visit.page(
            "list.html",
            rows=rows[first : first + PAGE],
            first=first,
            total=len(rows),
            page=PAGE,
            show=show,
            find=visit.text("find"),
            done=self._done(visit),
            said=DONE,
            form_id=new_id(),
        )

    def record(self, visit: Visit) -> Response:
        """Shows a record."""
        return self._show(visit, self._place(visit))

    def edit(self, visit: Visit) -> Response:
        """Shows the form to edit a record; an adjudicator may begin with somebody's edit."""
        number, record = self._place(visit)
        sheet = self._standings.sheet(visit.person.name, record.id)
        if self._hidden(visit.person, record):
            return visit.to(f"/records/{number}")
        start = record if sheet.final is None else sheet.final.edited or record
        if visit.person.role == ADJUDICATOR and (of := visit.text("of")):
            theirs = self._standings.sheet(of, record.id).final
            start = theirs.edited if theirs and theirs.edited else record
        draft = draft_of(start)
        return self._editing(visit, number, record, draft=draft, checked=check(draft, record))

    def check(self, visit: Visit) -> Response:
        """Says what is to be said about an edit that is being written."""
        _, record = self._place(visit)
        checked = check(read_draft(visit.text, visit.form.getlist), record)
        return visit.page("checked.html", checked=checked)

    def decide(self, visit: Visit) -> Response:
        """Takes a decision, and leads to the next record."""
        number, record = place = self._place(visit)
        try:
            sent = self._sent(visit, record)
        except InvalidError as error:
            if visit.text("verdict") == "edit":
                draft = read_draft(visit.text, visit.form.getlist)
                checked = check(draft, record)
                return self._editing(
                    visit, number, record, draft=draft, checked=checked, wrong=str(error)
                )
            return self._show(visit, place, wrong=str(error), status=422)
        try:
            kept = self._keep(sent)
        except ConflictError as error:
            return self._conflict(visit, number, sent.decision, str(error))
        if kept.action in ("choose", "undo"):
            return visit.to(f"/records/{number}")
        with self._lock:
            waiting = self._standings.waiting(visit.person.name, after=record.id)
        following = f"/records/{self._number(waiting[0])}" if waiting else "/records"
        return visit.to(f"{following}?done={kept.id}")

    def _sent(self, visit: Visit, record: Record) -> _Sent:
        """Reads the decision of a form.

        Raises:
            InvalidError: It lacks something.
        """
        verdict, _, more = visit.text("verdict").partition(":")
        note = visit.text("note").strip()
        if len(note) > MOST_NOTE:
            raise InvalidError(f"the note has {len(note):,} characters; at most {MOST_NOTE:,}")
        if more == "other" and not note:
            raise InvalidError("say in the note why it is rejected, or choose one of the reasons")
        fields: dict[str, object] = {}
        if verdict == "edit":
            checked = check(read_draft(visit.text, visit.form.getlist), record)
            if checked.record is None or checked.problems:
                raise InvalidError("the edit was not kept: " + "; ".join(checked.problems))
            fields = {"edited": checked.record, "changes": checked.changes}
        given = {"choose": "choice", "reject": "reason", "undo": "undoes"}
        if verdict in given:
            fields[given[verdict]] = more
        name = visit.text("id")
        if not ID.fullmatch(name):
            raise DataError("the form has no id; load the page again")
        try:
            decision = Decision.model_validate(
                {
                    "id": name,
                    "at": now(),
                    "person": visit.person.name,
                    "record": record.id,
                    "action": verdict,
                    "note": note,
                    **fields,
                }
            )
        except ValidationError:
            raise DataError(
                f"{visit.text('verdict')!r:.60} is no decision; load the page again"
            ) from None
        return _Sent(decision=decision, version=_whole(visit.text("version", "0")))

    def _keep(self, sent: _Sent) -> Decision:
        """Writes a decision; what is returned is on disk.

        Raises:
            ConflictError: It was made for another state of the record.
        """
        decision = sent.decision

        def allowed() -> None:
            if self._standings.version(decision.person, decision.record) != sent.version:
                raise ConflictError("Something was decided about this record after you loaded it.")
            problem = self._standings.problem(decision)
            if problem:
                raise ConflictError(f"This cannot be done: {problem}.")

        with self._lock:
            known = self._journal.get(decision.id) is not None
            kept = self._journal.append(decision, allowed)
            if not known:
                self._standings.take(kept)
            return kept

    def _show(
        self, visit: Visit, place: tuple[int, Record], *, wrong: str = "", status: int = 200
    ) -> Response:
        number, record = place
        name = visit.person.name
        with self._lock:
            sheet = self._standings.sheet(name, record.id)
            waiting = self._standings.waiting(name, after=record.id)
            mine = self._standings.mine(name)
            standing = self._standings.of(record.id)
            values = {
                "version": self._standings.version(name, record.id),
                "settled": standing.state == "settled" and visit.person.role != ADJUDICATOR,
                "opinions": self._opinions(visit.person, record.id),
            }
        hidden = self._hidden(visit.person, record)
        return visit.page(
            "record.html",
            status=status,
            number=number,
            record=record,
            sheet=sheet,
            hidden=hidden,
            beside=None if hidden else self._shelf.of(number - 1),
            done=self._done(visit),
            said=DONE,
            wrong=wrong,
            note=visit.text("note") if wrong else "",
            progress_of=(len(mine) - len(waiting), len(mine)),
            reasons=REASONS,
            letters=LETTERS,
            form_id=new_id(),
            decide_id=new_id(),
            undo_id=new_id(),
            adjudicates=visit.person.role == ADJUDICATOR,
            **values,
        )

    def _editing(self, visit: Visit, number: int, record: Record, **values: object) -> Response:
        with self._lock:
            version = self._standings.version(visit.person.name, record.id)
        wrong = values.setdefault("wrong", "")
        # A form that was sent keeps what it was made for: others may have decided meanwhile.
        sent = visit.text("version")
        return visit.page(
            "edit.html",
            status=422 if wrong else 200,
            number=number,
            record=record,
            was=flat(record),
            version=_whole(sent) if sent else version,
            note=visit.text("note"),
            form_id=new_id(),
            letters=LETTERS,
            labels=get_args(StressLabel),
            **values,
        )

    def _conflict(self, visit: Visit, number: int, sent: Decision, why: str) -> Response:
        with self._lock:
            current = self._standings.sheet(visit.person.name, sent.record).current
        return visit.page(
            "conflict.html",
            status=409,
            number=number,
            sent=sent,
            why=why,
            current=current,
            said=DONE,
        )

    def _done(self, visit: Visit) -> tuple[int, Decision, int] | None:
        """Returns the decision that led to a page, if it can be taken back."""
        found = self._journal.get(visit.text("done"))
        if found is None or found.person != visit.person.name:
            return None
        with self._lock:
            current = self._standings.sheet(found.person, found.record).current
            if current is None or current.id != found.id:
                return None
            version = self._standings.version(found.person, found.record)
            return self._number(found.record), found, version

    def _opinions(self, person: Person, record: str) -> Sequence[tuple[str, Decision | None, str]]:
        """Returns what others decided and chose: for the adjudicator alone."""
        if person.role != ADJUDICATOR:
            return ()
        found = []
        for judge in self._standings.of(record).judges:
            sheet = self._standings.sheet(judge, record)
            choice = sheet.choice.choice if sheet.choice else None
            found.append((judge, sheet.final, choice or "–"))
        return found

    def _hidden(self, person: Person, record: Record) -> bool:
        """Returns whether the answer, and what tells it, is not shown yet."""
        if not self._matter.settings.blind or person.role == ADJUDICATOR:
            return False
        return self._standings.sheet(person.name, record.id).choice is None

    def _place(self, visit: Visit) -> tuple[int, Record]:
        """Returns the record of an address.

        Raises:
            DataError: There is none, or it is not before this person.
        """
        number = _whole(visit.path["number"])
        if not 1 <= number <= len(self._matter.records):
            raise DataError(f"there is no record {number}; there are {len(self._matter.records)}")
        record = self._matter.records[number - 1]
        with self._lock:
            if not self._standings.may(visit.person.name, record.id):
                raise DataError(f"record {number} is not before you; go back to your list")
        return number, record

    def _number(self, record: str) -> int:
        return self._numbers[record]

    def _found(self, number: int, words: str) -> bool:
        record = self._matter.records[number - 1]
        return not words or words in record.id.lower() or words in record.question.lower()


def _whole(written: str) -> int:
    """Reads a whole number of an address or a form.

    Raises:
        DataError: It is something else.
    """
    if not (written.isascii() and written.isdigit() and len(written) < 10):
        raise DataError(f"{written!r:.40} is no number; go back to your list")
    return int(written)
