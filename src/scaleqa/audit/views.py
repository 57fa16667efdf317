"""The pages of raters: an overview, and one page for each item.

A page is made from what a rater may see of an item (`Shown`), its place in the rater's own order,
and what the rater said; nothing else of an item gets here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from starlette.responses import Response

from scaleqa.audit.book import Book, Line, StaleError, rating
from scaleqa.audit.forms import read_form
from scaleqa.audit.invitations import number
from scaleqa.audit.items import CUES, POINTS, Plan, Shown
from scaleqa.audit.judgements import NONE, Values
from scaleqa.audit.wording import DEFAULT, languages
from scaleqa.desk import Page, Visit, new_id
from scaleqa.desk.journal import now
from scaleqa.errors import DataError
from scaleqa.records.schema import LETTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An item in a list: its place, and whether it is rated, begun or open."""

    number: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What the form of an item shows.

    Attributes:
        values: What is filled in.
        base: The rating that saving the form replaces; empty if there is none.
        missing: Questions that were left out.
        stale: What was saved elsewhere in the meantime.
    """

    values: Values
    base: str
    missing: Sequence[str] = ()
    stale: Values | None = None


@dataclass(frozen=True, slots=True)
class Views:
    """What raters are shown, and what becomes of what they send."""

    plan: Plan
    book: Book

    def pages(self) -> list[Page]:
        """All addresses."""
        return [
            Page(path="/", handler=self.overview),
            Page(path="/language", handler=self.choose_language, method="POST"),
            Page(path="/items/{place}", handler=self.item),
            Page(path="/items/{place}", handler=self.rate, method="POST"),
            Page(path="/items/{place}/draft", handler=self.keep_draft, method="POST"),
        ]

    def overview(self, visit: Visit) -> Response:
        """What this is about, how far it is, and the way on."""
        rater = _rater(visit)
        places = self._places(rater)
        onward = _next([one for one in places if one.state != "rated"], after=0)
        return self._page(visit, "overview.html", places=places, onward=onward)

    def choose_language(self, visit: Visit) -> Response:
        """Keeps the language of a rater, on all their devices."""
        language = visit.text("language")
        if language not in languages():
            raise DataError(f"there is no language {language!r:.20}; there are {[*languages()]}")
        line = Line(id=new_id(), at=now(), kind="language", rater=_rater(visit), language=language)
        self.book.choose(line)
        place = visit.text("place")
        return visit.to(f"/items/{place}" if place.isascii() and place.isdigit() else "/")

    def item(self, visit: Visit) -> Response:
        """One item, with what the rater said about it so far."""
        rater, place = _rater(visit), self._place(visit)
        item = self.plan.item(rater, place).id
        saved, draft = self.book.rated(rater, item), self.book.draft(rater, item)
        said = draft or saved
        filled = Filled(values=said.values if said else Values(), base=saved.id if saved else "")
        return self._item(visit, place, filled)

    def rate(self, visit: Visit) -> Response:
        """Keeps a rating if it is complete, and leads to the next item."""
        rater, place = _rater(visit), self._place(visit)
        item = self.plan.item(rater, place)
        sent = read_form(visit.form)
        missing = sent.values.only(item.shown).missing(item.shown)
        if missing:
            filled = Filled(values=sent.values, base=sent.base, missing=missing)
            return self._item(visit, place, filled, HTTPStatus.UNPROCESSABLE_ENTITY)
        line = rating(
            form=sent.id,
            rater=rater,
            item=item,
            base=sent.base,
            values=sent.values,
            seconds=sent.seconds,
        )
        try:
            self.book.rate(line)
        except StaleError:
            current = self.book.rated(rater, item.id)
            # Saving the page that is shown now replaces what it says was saved.
            filled = Filled(
                values=sent.values,
                base=current.id if current else "",
                stale=current.values if current else Values(),
            )
            return self._item(visit, place, filled, HTTPStatus.CONFLICT)
        left = [one for one in self._places(rater) if one.state != "rated"]
        onward = _next(left, after=place)
        return visit.to(f"/items/{onward}" if onward else "/")

    def keep_draft(self, visit: Visit) -> Response:
        """Keeps what is filled in so far; tells a script whether it did."""
        rater, place = _rater(visit), self._place(visit)
        item = self.plan.item(rater, place)
        sent = read_form(visit.form)
        line = Line(
            id=new_id(),
            at=now(),
            kind="draft",
            rater=rater,
            item=item.id,
            base=sent.base,
            values=sent.values.only(item.shown),
        )
        return visit.json({"saved": self.book.keep_draft(line)})

    def _item(self, visit: Visit, place: int, filled: Filled, status: int = 200) -> Response:
        shown: Shown = self.plan.item(_rater(visit), place).shown
        return self._page(
            visit,
            "item.html",
            status=status,
            shown=shown,
            place=place,
            filled=filled,
            form=new_id(),
            letters=LETTERS,
            points=POINTS,
            cues=CUES,
            no_cue=NONE,
        )

    def _page(
        self, visit: Visit, template: str, *, status: int = 200, **values: object
    ) -> Response:
        rater = _rater(visit)
        asked = (one for one in visit.languages if one in languages())
        language = self.book.language(rater) or next(asked, DEFAULT)
        texts: Mapping[str, str] = languages()[language]
        total = len(self.plan.orders[rater - 1])
        return visit.page(
            template,
            status=status,
            title=texts["title"],
            texts=texts,
            language=language,
            names={name: some["name"] for name, some in languages().items()},
            done=len(self.book.done(rater)),
            total=total,
            **{"place": None, **values},
        )

    def _places(self, rater: int) -> list[Place]:
        done = self.book.done(rater)
        return [
            Place(
                number=place,
                state="rated"
                if name in done
                else "draft"
                if self.book.draft(rater, name)
                else "open",
            )
            for place, name in enumerate(self.plan.orders[rater - 1], 1)
        ]

    def _place(self, visit: Visit) -> int:
        given, total = visit.path["place"], len(self.plan.orders[_rater(visit) - 1])
        place = int(given) if given.isascii() and given.isdigit() and len(given) < 7 else 0
        if not 1 <= place <= total:
            raise DataError(f"there is no item {given!r:.20}; there are items 1 to {total}")
        return place


def _rater(visit: Visit) -> int:
    return number(visit.person.name) or 0


def _next(left: Sequence[Place], *, after: int) -> int | None:
    """The next place that is not rated, from here on and then from the start."""
    numbers = [one.number for one in left]
    return next((place for place in numbers if place > after), min(numbers, default=None))
