"""A directory in which something is constructed: the plan, the given records, the receipts."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from scaleqa.construct.book import Book
from scaleqa.construct.ledger import Ledger
from scaleqa.construct.plan import Plan, read_plan
from scaleqa.construct.prompting import hashes
from scaleqa.construct.receipts import Added, Begun, Decided, Receipt
from scaleqa.construct.tracks import open_track
from scaleqa.errors import DataError
from scaleqa.evaluate.lock import locked
from scaleqa.evaluate.rowfile import write_whole
from scaleqa.records import Record, load_records, shipped
from scaleqa.records.load import RECEIPTS, load_lines
from tsim.embed import Embedder

GIVEN = "given.jsonl"
Clock = Callable[[], datetime]


def now() -> datetime:
    """Returns the time."""
    return datetime.now(UTC)


@dataclass(kw_only=True)
class Site:
    """A construction that is being worked on.

    Attributes:
        book: Its state.
        ledger: Its receipts.
        embedder: Finds near-duplicates by meaning, if the plan says so.
        clock: Tells the time.
    """

    book: Book
    ledger: Ledger
    embedder: Embedder | None = None
    clock: Clock = now

    @property
    def at(self) -> str:
        """The time, as ISO 8601."""
        return self.clock().isoformat(timespec="seconds")

    def add(self, *receipts: Receipt) -> None:
        """Writes receipts and applies them."""
        self.ledger.add(*receipts)
        self.book.take(receipts)

    def settle(self) -> str | None:
        """Decides all that can be decided without asking; returns the step that waits for replies.

        The items of a step go on together, so that what is compared or shown does not depend on
        who replied first.
        """
        while True:
            if wanted := self._begin():
                self.add(Added(items=tuple(wanted)))
            step = self.book.current
            if step is None:
                return None
            if self.book.due(step):
                return step
            found = self.book.decide(step, self.embedder)
            self.add(Decided(at=self.at, step=step, decisions=tuple(found)))

    def _begin(self) -> list[str]:
        """Returns what is to be begun, once nothing else is under way."""
        return [] if self.book.current else self.book.wanted()


def began(directory: Path) -> bool:
    """Returns whether something is constructed in a directory."""
    return (directory / RECEIPTS).is_file()


def read_site(directory: Path) -> Site:
    """Reads a construction, without changing anything.

    Raises:
        DataError: There is none, or it cannot be read.
    """
    if not began(directory):
        raise DataError(
            f"{directory} is no construction; begin one with: scaleqa construct run PLAN --out "
            f"{directory}"
        )
    ledger = Ledger(directory / RECEIPTS)
    if not ledger.receipts:
        raise DataError(f"{directory / RECEIPTS} is empty; run: scaleqa construct run PLAN again")
    return _opened(directory, ledger)


@contextmanager
def opened(
    directory: Path, plan: Plan | None = None, *, base: Path = Path(), clock: Clock = now
) -> Iterator[Site]:
    """Opens a construction to go on with it, or begins one; nobody else can meanwhile.

    Args:
        directory: Where it is.
        plan: The plan; only that of its receipts continues, but for what may change.
        base: Where the plan's paths start from.
        clock: Tells the time.

    Raises:
        DataError: There is none and no plan, or it has another plan.
    """
    if plan is None and not began(directory):
        read_site(directory)
    with locked(directory):
        ledger = Ledger(directory / RECEIPTS)
        try:
            if not ledger.receipts:
                if plan is None:
                    raise DataError(f"{ledger.path} is empty; run: scaleqa construct run PLAN")
                _begin(directory, ledger, plan, base, clock)
            site = _opened(directory, ledger)
            if plan and plan.identity != site.book.plan.identity:
                raise DataError(
                    f"{directory} has another plan; only budget, workers and rpm may change when "
                    "it is continued: choose another --out, or restore the plan"
                )
            site.clock = clock
            yield site
        finally:
            ledger.close()


def _begin(directory: Path, ledger: Ledger, plan: Plan, base: Path, clock: Clock) -> None:
    records = _given(plan, base)
    track = open_track(plan, records)
    Book(plan=plan, track=track).wanted()  # refuses a plan that cannot be carried out
    digest = None
    if records:
        content = "".join(r.model_dump_json() + "\n" for r in records.values()).encode()
        write_whole(directory / GIVEN, content)
        digest = hashlib.sha256(content).hexdigest()
    ledger.add(
        Begun(
            at=clock().isoformat(timespec="seconds"),
            identity=plan.identity,
            plan=plan.model_dump(mode="json"),
            prompts=hashes(track),
            given=digest,
        )
    )


def _given(plan: Plan, base: Path) -> Mapping[str, Record]:
    """Reads the records of the plan's domains, from which wordings and sequels are made."""
    if plan.track not in ("wordings", "sequels"):
        return {}
    records = load_records(base / plan.records) if plan.records else shipped()
    domains = {domain.name for domain in plan.domains}
    return {record.id: record for record in records if record.domain in domains}


def _opened(directory: Path, ledger: Ledger) -> Site:
    first = ledger.receipts[0]
    if not isinstance(first, Begun):
        raise DataError(f"{ledger.path} does not begin with a plan; restore the file")
    plan = read_plan(first.plan, str(ledger.path))
    given: dict[str, Record] = {}
    if first.given:
        file = directory / GIVEN
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != first.given:
            raise DataError(f"{file} is missing or was changed; restore it, or begin elsewhere")
        given = {record.id: record for record in load_lines([file], Record)}
    track = open_track(plan, given)
    changed = [n for n, sha in hashes(track).items() if first.prompts.get(n) != sha]
    if changed:
        raise DataError(
            f"the prompts {', '.join(changed)} are others than those that {directory} was begun "
            "with; use the scaleqa that began it"
        )
    return Site(book=Book(plan=plan, track=track).take(ledger.receipts), ledger=ledger)
