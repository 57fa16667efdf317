"""The book of ratings: every rating, draft and choice of language, in one journal.

The last rating of an item counts, and those before it stay in the journal. A form says which entry
it was made from, so that a rating made in another tab is never replaced without being seen.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from scaleqa.audit.files import RATINGS
from scaleqa.audit.items import Item, Plan
from scaleqa.audit.judgements import Judgement, Values
from scaleqa.desk import Entry, Journal, read_entries
from scaleqa.desk.journal import now
from scaleqa.errors import DataError

# A browser that was open for longer does not tell how long somebody read.
MOST_SECONDS = 3_600.0


class StaleError(DataError):
    """An item was rated elsewhere since the form was made."""

    kind = "stale"


class Line(Entry):
    """A line of the journal.

    Attributes:
        kind: A rating, what is filled in so far, or the language of the pages.
        rater: The number of the rater.
        item: The item that is rated.
        base: The entry of this item that the form showed; empty if there was none.
        values: What the rater says.
        seconds: How long the item was before the rater.
        language: The language, if it was chosen.
    """

    kind: Literal["rated", "draft", "language"]
    rater: Annotated[int, Field(ge=1)]
    item: str = ""
    base: str = ""
    values: Values = Values()
    seconds: float | None = None
    language: str = ""


class Book:
    """What raters have said so far; for several threads of one process."""

    def __init__(
        self, directory: Path, plan: Plan, *, told: Callable[[str], None] = lambda _: None
    ) -> None:
        """Opens the book of an audit.

        Raises:
            DataError: The journal is damaged, or is not of this plan.
        """
        self._journal: Journal[Line] = Journal(directory / RATINGS, Line, told=told)
        self._lock = threading.Lock()
        self._rated: dict[tuple[int, str], Line] = {}
        self._drafts: dict[tuple[int, str], Line] = {}
        self._languages: dict[int, str] = {}
        for line in self._journal.entries:
            _check(line, plan)
            self._take(line)

    def close(self) -> None:
        """Closes the journal."""
        self._journal.close()

    def rated(self, rater: int, item: str) -> Line | None:
        """Returns the rating of an item that counts."""
        return self._rated.get((rater, item))

    def draft(self, rater: int, item: str) -> Line | None:
        """Returns what was filled in after the last rating, and not sent."""
        return self._drafts.get((rater, item))

    def language(self, rater: int) -> str | None:
        """Returns the language that a rater chose."""
        return self._languages.get(rater)

    def done(self, rater: int) -> frozenset[str]:
        """Returns the items that a rater has rated."""
        with self._lock:
            return frozenset(item for who, item in self._rated if who == rater)

    def rate(self, line: Line) -> Line:
        """Keeps a rating; it is on disk when this returns. The same form again changes nothing.

        Raises:
            StaleError: The item was rated elsewhere since the form was made.
        """
        with self._lock:
            there = self._journal.get(line.id)
            if there is not None and there.values == line.values:
                return there
            current = self._rated.get((line.rater, line.item))
            if there is not None or (current.id if current else "") != line.base:
                raise StaleError("this item was rated in another tab or on another device")
            return self._keep(line)

    def keep_draft(self, line: Line) -> bool:
        """Keeps what is filled in, unless the item was rated since; returns whether it did."""
        with self._lock:
            current = self._rated.get((line.rater, line.item))
            if (current.id if current else "") != line.base:
                return False
            self._keep(line)
            return True

    def choose(self, line: Line) -> None:
        """Keeps the choice of a language."""
        with self._lock:
            self._keep(line)

    def _keep(self, line: Line) -> Line:
        kept = self._journal.append(line)
        self._take(kept)
        return kept

    def _take(self, line: Line) -> None:
        place = line.rater, line.item
        if line.kind == "rated":
            self._rated[place] = line
            self._drafts.pop(place, None)
        elif line.kind == "draft":
            self._drafts[place] = line
        else:
            self._languages[line.rater] = line.language


def rating(
    *, form: str, rater: int, item: Item, base: str, values: Values, seconds: float | None
) -> Line:
    """Makes the entry of a rating."""
    return Line(
        id=form,
        at=now(),
        kind="rated",
        rater=rater,
        item=item.id,
        base=base,
        values=values.only(item.shown),
        seconds=None if seconds is None else round(min(max(seconds, 0.0), MOST_SECONDS), 1),
    )


def read_judgements(directory: Path, plan: Plan) -> list[Judgement]:
    """Reads the last word of every rater on every item, ordered by rater and item.

    Raises:
        DataError: The journal is damaged, or is not of this plan.
    """
    if not (directory / RATINGS).exists():
        return []
    return last_words(read_entries(directory / RATINGS, Line), plan)


def last_words(lines: Sequence[Line], plan: Plan) -> list[Judgement]:
    """Returns the last rating of every rater for every item."""
    last: dict[tuple[int, str], Line] = {}
    for line in lines:
        _check(line, plan)
        if line.kind == "rated":
            last[line.rater, line.item] = line
    return [
        Judgement(rater=rater, item=plan.by_id[name], values=line.values, seconds=line.seconds)
        for (rater, name), line in sorted(last.items())
    ]


def _check(line: Line, plan: Plan) -> None:
    known = line.kind == "language" or line.item in plan.by_id
    if not known or line.rater > len(plan.orders):
        raise DataError(
            f"{RATINGS} has an entry of rater {line.rater} about item {line.item!r:.40}, which the "
            "plan does not have; put back the plan that was rated"
        )
