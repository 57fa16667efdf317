"""Opens a review: its directory, its people, its journal."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scaleqa.desk import Desk, Journal, People, Person, held, secret_of
from scaleqa.errors import DataError
from scaleqa.records.schema import Record
from scaleqa.review.beside import Shelf
from scaleqa.review.decisions import FILE, Decision
from scaleqa.review.ledger import Ledger
from scaleqa.review.room import ADJUDICATOR, REVIEWER, Room
from scaleqa.review.settings import MOST_REVIEWERS, Matter, Settings, begin, digest, require_usable


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A review that is open."""

    matter: Matter
    journal: Journal[Decision]

    def admitted(self, people: Sequence[Person]) -> People:
        """Returns its people with their tokens."""
        return People(secret_of(self.matter.directory), people)

    def desk(self, people: People, shelf: Shelf) -> Desk:
        """Returns its desk.

        Raises:
            DataError: The journal is not one about its records.
        """
        return Room(self.matter, Ledger(self.matter, self.journal), shelf).desk(people)


def people_of(reviewers: Sequence[str], adjudicator: str | None) -> list[Person]:
    """Returns the people of a review.

    Raises:
        DataError: A name cannot be one, or occurs twice.
    """
    people = [Person(name=name, role=REVIEWER) for name in reviewers]
    if adjudicator is not None:
        people.append(Person(name=adjudicator, role=ADJUDICATOR))
    return list(People(b"", people))  # names are checked before anything is written


def settings_of(
    records: Sequence[Record], people: Sequence[Person], *, each: int, blind: bool
) -> Settings:
    """Returns what a review is begun with.

    Raises:
        DataError: The records cannot be reviewed by these people.
    """
    require_usable(records)
    reviewers = tuple(person.name for person in people if person.role == REVIEWER)
    if not 1 <= each <= len(reviewers) <= MOST_REVIEWERS:
        raise DataError(
            f"--each is {each} of {len(reviewers)} reviewers; expected 1 to {MOST_REVIEWERS} "
            "reviewers, and --each from 1 to their number"
        )
    judging = [person.name for person in people if person.role == ADJUDICATOR]
    return Settings(
        records=digest(records),
        reviewers=reviewers,
        each=each,
        adjudicator=judging[0] if judging else None,
        blind=blind,
    )


@contextmanager
def opened(
    directory: Path, records: Sequence[Record], wanted: Settings, *, told: Callable[[str], None]
) -> Iterator[Review]:
    """Opens a review; nobody else may serve it meanwhile.

    Args:
        directory: Its directory.
        records: The records.
        wanted: What it is begun with.
        told: Is told of a line that a crash has torn.

    Raises:
        DataError: Another review is there, or somebody serves it.
    """
    with held(directory):
        matter = begin(directory, records, wanted)
        with closing(Journal(directory / FILE, Decision, told=told)) as journal:
            yield Review(matter=matter, journal=journal)
