"""Where every record stands, from the decisions so far; pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from scaleqa.errors import DataError
from scaleqa.review.assigning import assign, others
from scaleqa.review.decisions import FINAL, VERDICTS, Decision
from scaleqa.review.settings import Settings

State = Literal["open", "agreed", "disputed", "settled"]


@dataclass(slots=True)
class Sheet:
    """What one person did to one record.

    Attributes:
        version: How often they did something; a form that was made for another one is refused.
        choice: Their blind answer.
        made: Their decisions that were not taken back, the last one counts.
    """

    version: int = 0
    choice: Decision | None = None
    made: list[Decision] = field(default_factory=list)

    @property
    def current(self) -> Decision | None:
        """The decision that counts, if there is one."""
        return self.made[-1] if self.made else None

    @property
    def state(self) -> str:
        """Whether the record is `open`, `put off` or `done` for the person."""
        if self.current is None:
            return "open"
        return "done" if self.final else "put off"

    @property
    def final(self) -> Decision | None:
        """The decision that counts, unless it is to come back to the record later."""
        return self.current if self.current and self.current.action in FINAL else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a record stands.

    Attributes:
        state: `open` while somebody has to decide, `agreed` if all did the same, `disputed` if they
            did not or nobody is left for a second opinion, `settled` by the adjudicator. Without an
            adjudicator, a second opinion that nobody is left for keeps a record open.
        judges: Who reviews it: those assigned, and those asked for a second opinion.
        decision: What counts, if it is agreed or settled.
    """

    state: State
    judges: tuple[str, ...]
    decision: Decision | None


class Standings:
    """The sheets of everybody about everything; takes decisions in their order."""

    def __init__(self, ids: Sequence[str], settings: Settings) -> None:
        """Begins without decisions.

        Args:
            ids: The ids of the records, in order.
            settings: Who reviews, and how many each record.
        """
        self._settings = settings
        self._places = {name: number for number, name in enumerate(ids)}
        self._assigned = assign(len(ids), settings.reviewers, settings.each)
        self._sheets: dict[tuple[str, str], Sheet] = {}
        self._taken: dict[str, list[Decision]] = {}

    def take(self, decision: Decision) -> None:
        """Takes a decision.

        Raises:
            DataError: It does not follow from those before.
        """
        problem = self.problem(decision)
        if problem:
            raise DataError(f"decision {decision.id} of {decision.person}: {problem}")
        sheet = self._sheets.setdefault((decision.person, decision.record), Sheet())
        if decision.action == "choose":
            sheet.choice = decision
        elif decision.action == "undo":
            sheet.made.pop()
        else:
            sheet.made.append(decision)
        sheet.version += 1
        self._taken.setdefault(decision.record, []).append(decision)

    def problem(self, decision: Decision) -> str | None:
        """Returns why a decision cannot be taken, if so."""
        if decision.record not in self._places:
            return f"there is no record {decision.record}"
        sheet = self.sheet(decision.person, decision.record)
        if not self.may(decision.person, decision.record):
            return f"{decision.record} is not for {decision.person}"
        if decision.action == "choose" and sheet.choice:
            return f"{sheet.choice.choice} was chosen before, and the answer has been shown"
        if decision.action == "undo" and (not sheet.current or sheet.current.id != decision.undoes):
            return "this decision was taken back or replaced before"
        adjudicator = self._settings.adjudicator
        if decision.action == "second" and decision.person == adjudicator:
            return "nobody is left whom an adjudicator could ask"
        blind = self._settings.blind and decision.person != adjudicator
        if blind and decision.action in VERDICTS and not sheet.choice:
            return "choose an answer first; the key is shown afterwards"
        if adjudicator and decision.person != adjudicator:
            settled = self.sheet(adjudicator, decision.record).final
            if settled:
                return f"{adjudicator} has settled it; ask {adjudicator} to take that back first"
        return None

    def sheet(self, person: str, record: str) -> Sheet:
        """Returns what a person did to a record; not to be changed."""
        return self._sheets.get((person, record)) or Sheet()

    def version(self, person: str, record: str) -> int:
        """Returns what a form for a person is made for: an adjudicator's, for what all did."""
        if person == self._settings.adjudicator:
            return len(self._taken.get(record, ()))
        return self.sheet(person, record).version

    def since(self, version: int, record: str) -> list[str]:
        """Returns who did something to a record after an adjudicator's form was made.

        Args:
            version: The version that the form was made for.
            record: The id of the record.
        """
        return list(dict.fromkeys(one.person for one in self._taken.get(record, ())[version:]))

    def may(self, person: str, record: str) -> bool:
        """Returns whether a record is before a person."""
        if person == self._settings.adjudicator:
            return self.of(record).state in ("disputed", "settled")
        return person in self._judges(record)[0]

    def of(self, record: str) -> Standing:
        """Returns where a record stands."""
        judges, unanswered = self._judges(record)
        adjudicator = self._settings.adjudicator
        settled = self.sheet(adjudicator, record).final if adjudicator else None
        if settled:
            return Standing(state="settled", judges=judges, decision=settled)
        finals = [self.sheet(judge, record).final for judge in judges]
        made = [final for final in finals if final]
        if len(made) < len(finals):
            return Standing(state="open", judges=judges, decision=None)
        if unanswered:
            state: State = "disputed" if adjudicator else "open"
            return Standing(state=state, judges=judges, decision=None)
        verdicts = [final for final in made if final.action in VERDICTS]
        if len({final.verdict for final in verdicts}) == 1:
            return Standing(state="agreed", judges=judges, decision=verdicts[0])
        return Standing(state="disputed", judges=judges, decision=None)

    def mine(self, person: str) -> list[str]:
        """Returns the records that are before a person, in order."""
        return [record for record in self._places if self.may(person, record)]

    def waiting(self, person: str, after: str | None = None) -> list[str]:
        """Returns the records that a person still has to decide, those put off at the end.

        Args:
            person: The name.
            after: The list begins behind this record, and with those before it at its end.
        """
        left = [r for r in self.mine(person) if not self.sheet(person, r).final]
        start = self._places[after] if after else -1
        return sorted(
            left,
            key=lambda r: (
                self.sheet(person, r).current is not None,
                self._places[r] <= start,
                self._places[r],
            ),
        )

    def _judges(self, record: str) -> tuple[tuple[str, ...], bool]:
        """Returns who reviews a record, and whether nobody is left for a second opinion.

        A request for a second opinion asks one more. Whoever was asked and has decided counts, also
        if the request is taken back later.
        """
        number = self._places[record]
        judges = [*self._assigned[number]]
        spare = others(number, self._settings.reviewers, judges)
        unanswered = False
        for judge in judges:  # grows while it is read
            final = self.sheet(judge, record).final
            if final and final.action == "second":
                if spare:
                    judges.append(spare.pop(0))
                else:
                    unanswered = True
        for name in spare:
            final = self.sheet(name, record).final
            if final and final.action in VERDICTS:
                judges.append(name)
        return tuple(judges), unanswered


def replay(ids: Sequence[str], settings: Settings, decisions: Iterable[Decision]) -> Standings:
    """Returns where everything stands after some decisions.

    Raises:
        DataError: A decision does not follow from those before.
    """
    standings = Standings(ids, settings)
    for decision in decisions:
        standings.take(decision)
    return standings


def counts(standings: Standings, records: Iterable[str]) -> Mapping[State, int]:
    """Returns how many records are in each state."""
    found: dict[State, int] = {"open": 0, "agreed": 0, "disputed": 0, "settled": 0}
    for record in records:
        found[standings.of(record).state] += 1
    return found
