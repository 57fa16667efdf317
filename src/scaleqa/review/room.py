"""The pages of the review desk: what they show, and where their forms lead."""

from typing import get_args

from starlette.responses import Response

from scaleqa.desk import Desk, Page, People, Person, Visit, new_id
from scaleqa.errors import DataError, InvalidError
from scaleqa.records.schema import LETTERS, Record, StressLabel
from scaleqa.review.beside import Shelf
from scaleqa.review.decisions import REASONS, Decision
from scaleqa.review.editing import Checked, Draft, check, draft_of, pieces
from scaleqa.review.forms import Sent, read_decision, read_edit, whole
from scaleqa.review.ledger import ConflictError, Ledger
from scaleqa.review.settings import Matter
from scaleqa.review.standings import Sheet, Standings, counts

REVIEWER, ADJUDICATOR = "reviewer", "adjudicator"
PAGE = 100
DONE = {
    "accept": "Accepted",
    "edit": "Edited",
    "reject": "Rejected",
    "second": "Left to a second opinion",
    "skip": "Put off",
}


class Room:
    """Answers the requests of reviewers and of the adjudicator."""

    def __init__(self, matter: Matter, ledger: Ledger, shelf: Shelf) -> None:
        """Takes what the pages show.

        Args:
            matter: What is reviewed, and by whom.
            ledger: The decisions.
            shelf: What stands beside the records.
        """
        self._matter = matter
        self._ledger = ledger
        self._shelf = shelf
        self._numbers = {name: number for number, name in enumerate(matter.ids, 1)}

    def desk(self, people: People) -> Desk:
        """Returns the desk of this review."""
        return Desk(
            title="Review",
            people=people,
            package="scaleqa.review",
            filters={"pieces": pieces},
            pages=(
                Page(path="/", handler=self.home),
                Page(path="/next", handler=self.next),
                Page(path="/records", handler=self.listing),
                Page(path="/records/{number}", handler=self.record),
                Page(path="/records/{number}", handler=self.decide, method="POST"),
                Page(path="/records/{number}/edit", handler=self.edit),
                Page(path="/records/{number}/check", handler=self.check, method="POST"),
            ),
        )

    def home(self, visit: Visit) -> Response:
        """Shows how far somebody is."""
        name = visit.person.name
        with self._ledger.standing() as standings:
            waiting, mine = standings.waiting(name), standings.mine(name)
            states = counts(standings, self._matter.ids)
        return visit.page(
            "home.html",
            waiting=len(waiting),
            mine=len(mine),
            states=states,
            records=len(self._matter.records),
            blind=self._matter.settings.blind,
            adjudicates=_adjudicates(visit.person),
        )

    def next(self, visit: Visit) -> Response:
        """Leads to the next record that waits, or home if none does."""
        with self._ledger.standing() as standings:
            waiting = standings.waiting(visit.person.name)
        return visit.to(f"/records/{self._numbers[waiting[0]]}" if waiting else "/")

    def listing(self, visit: Visit) -> Response:
        """Lists the records of somebody, a hundred at a time."""
        name, show, find = visit.person.name, visit.text("show", "all"), visit.text("find").strip()
        rows = []
        with self._ledger.standing() as standings:
            for one in standings.mine(name):
                sheet = standings.sheet(name, one)
                record = self._matter.records[self._numbers[one] - 1]
                if show in ("all", sheet.state) and _found(record, find.lower()):
                    rows.append((self._numbers[one], record, sheet))
        first = whole(visit.text("first", "0"))
        return visit.page(
            "list.html",
            rows=rows[first : first + PAGE],
            first=first,
            total=len(rows),
            page=PAGE,
            show=show,
            find=find,
            done=self._done(visit),
            said=DONE,
            undo_id=new_id(),
        )

    def record(self, visit: Visit) -> Response:
        """Shows a record."""
        return self._show(visit, *self._place(visit))

    def edit(self, visit: Visit) -> Response:
        """Shows the form to edit a record; an adjudicator may begin with somebody's edit."""
        number, record = self._place(visit)
        with self._ledger.standing() as standings:
            if self._hidden(visit.person, standings.sheet(visit.person.name, record.id)):
                return visit.to(f"/records/{number}")
            of = visit.text("of") if _adjudicates(visit.person) else ""
            begun = standings.sheet(of or visit.person.name, record.id).final
            version = standings.version(visit.person.name, record.id)
            note = _note(standings.sheet(visit.person.name, record.id))
        draft = draft_of(begun.edited if begun and begun.edited else record)
        edit = draft, check(draft, record)
        return self._editing(
            visit, number, record, edit, version=version, note=visit.text("note", note)
        )

    def check(self, visit: Visit) -> Response:
        """Says what is to be said about an edit that is being written."""
        _, record = self._place(visit)
        return visit.page("checked.html", checked=read_edit(visit, record)[1])

    def decide(self, visit: Visit) -> Response:
        """Takes a decision, and leads to the next record."""
        # Reviewers may agree while an adjudicator looks; the ledger refuses, and says who did what.
        number, record = self._at(visit) if _adjudicates(visit.person) else self._place(visit)
        try:
            sent = read_decision(visit, record)
        except InvalidError as error:
            self._place(visit)
            if visit.text("verdict") != "edit":
                return self._show(visit, number, record, wrong=str(error))
            # The form keeps what it was made for: others may have decided meanwhile.
            version, edit = whole(visit.text("version", "0")), read_edit(visit, record)
            return self._editing(
                visit,
                number,
                record,
                edit,
                version=version,
                note=visit.text("note"),
                wrong=str(error),
            )
        try:
            kept = self._ledger.keep(sent.decision, sent.version)
        except ConflictError as error:
            return self._conflict(visit, number, sent, str(error))
        if kept.action == "choose":
            return visit.to(f"/records/{number}#question")  # where the key is shown now
        if kept.action == "undo":
            return visit.to(f"/records/{number}")
        with self._ledger.standing() as standings:
            waiting = standings.waiting(visit.person.name, after=record.id)
        following = f"/records/{self._numbers[waiting[0]]}" if waiting else "/records"
        return visit.to(f"{following}?done={kept.id}")

    def _show(self, visit: Visit, number: int, record: Record, *, wrong: str = "") -> Response:
        name = visit.person.name
        adjudicates = _adjudicates(visit.person)
        with self._ledger.standing() as standings:
            sheet = standings.sheet(name, record.id)
            version = standings.version(name, record.id)
            waiting, mine = len(standings.waiting(name)), len(standings.mine(name))
            settled = not adjudicates and standings.of(record.id).state == "settled"
            opinions = _opinions(standings, record.id) if adjudicates else ()
            hidden = self._hidden(visit.person, sheet)
            return visit.page(
                "record.html",
                status=422 if wrong else 200,
                number=number,
                record=record,
                sheet=sheet,
                version=version,
                settled=settled,
                opinions=opinions,
                hidden=hidden,
                beside=None if hidden else self._shelf.of(number - 1),
                progress_of=(mine - waiting, mine),
                done=self._done(visit),
                said=DONE,
                wrong=wrong,
                note=visit.text("note") if wrong else _note(sheet),
                reasons=REASONS,
                letters=LETTERS,
                choose_id=new_id(),
                decide_id=new_id(),
                undo_id=new_id(),
                adjudicates=adjudicates,
            )

    def _editing(
        self,
        visit: Visit,
        number: int,
        record: Record,
        edit: tuple[Draft, Checked],
        *,
        version: int,
        note: str,
        wrong: str = "",
    ) -> Response:
        draft, checked = edit
        return visit.page(
            "edit.html",
            status=422 if wrong else 200,
            number=number,
            record=record,
            draft=draft,
            checked=checked,
            version=version,
            wrong=wrong,
            note=note,
            edit_id=new_id(),
            letters=LETTERS,
            labels=get_args(StressLabel),
        )

    def _conflict(self, visit: Visit, number: int, sent: Sent, why: str) -> Response:
        name, record = visit.person.name, sent.decision.record
        with self._ledger.standing() as standings:
            others: list[tuple[str, Decision | None, str]] = []
            if _adjudicates(visit.person):
                since = [one for one in standings.since(sent.version, record) if one != name]
                others = [_opinion(standings, one, record) for one in since]
            return visit.page(
                "conflict.html",
                status=409,
                number=number,
                sent=sent.decision,
                why=why,
                current=standings.sheet(name, record).current,
                others=others,
                state=standings.of(record).state,
                before=standings.may(name, record),
            )

    def _done(self, visit: Visit) -> tuple[int, Decision, int] | None:
        """Returns the decision that led to a page, if it can be taken back."""
        found = self._ledger.get(visit.text("done"))
        if found is None or found.person != visit.person.name:
            return None
        with self._ledger.standing() as standings:
            current = standings.sheet(found.person, found.record).current
            if current is None or current.id != found.id:
                return None
            version = standings.version(found.person, found.record)
            return self._numbers[found.record], found, version

    def _hidden(self, person: Person, sheet: Sheet) -> bool:
        """Returns whether the answer, and what tells it, is not shown yet."""
        blind = self._matter.settings.blind and not _adjudicates(person)
        return blind and sheet.choice is None

    def _at(self, visit: Visit) -> tuple[int, Record]:
        """Returns the record of an address.

        Raises:
            DataError: There is none.
        """
        number = whole(visit.path["number"])
        if not 1 <= number <= len(self._matter.records):
            raise DataError(f"there is no record {number}; there are {len(self._matter.records)}")
        return number, self._matter.records[number - 1]

    def _place(self, visit: Visit) -> tuple[int, Record]:
        """Returns the record of an address, if it is before this person.

        Raises:
            DataError: It is not, or there is none.
        """
        number, record = self._at(visit)
        with self._ledger.standing() as standings:
            if not standings.may(visit.person.name, record.id):
                raise DataError(f"record {number} is not before you; go back to your list")
        return number, record


def _adjudicates(person: Person) -> bool:
    return person.role == ADJUDICATOR


def _opinions(standings: Standings, record: str) -> list[tuple[str, Decision | None, str]]:
    """Returns what reviewers decided, and chose before: for the adjudicator alone."""
    return [_opinion(standings, judge, record) for judge in standings.of(record).judges]


def _opinion(standings: Standings, judge: str, record: str) -> tuple[str, Decision | None, str]:
    sheet = standings.sheet(judge, record)
    return judge, sheet.final, str(sheet.choice.choice) if sheet.choice else ""


def _note(sheet: Sheet) -> str:
    """Returns the note that a form begins with: who changes a decision may mean the same."""
    return sheet.current.note if sheet.current else ""


def _found(record: Record, words: str) -> bool:
    return not words or words in record.id.lower() or words in record.question.lower()
