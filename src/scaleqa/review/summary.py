"""What a review came to: counts, and how far reviewers agree; pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from pydantic import BaseModel, ConfigDict

from scaleqa.records.schema import Record
from scaleqa.review.decisions import VERDICTS, Decision
from scaleqa.review.settings import Settings
from scaleqa.review.standings import Standings
from scaleqa.stats import Interval, wilson
from scaleqa.stats.agreement import coded, cohen, estimate

SEED = 20_260
# Of fewer records, kappa and its interval say nothing.
FEWEST = 5


class Share(BaseModel):
    """A count of a number of trials, with Wilson's 95 % interval."""

    model_config = ConfigDict(frozen=True)

    count: int
    of: int
    share: float | None
    interval: Interval | None


class Kappa(BaseModel):
    """Cohen's kappa with a bootstrap interval.

    None for fewer than five records, and where chance agreement is complete.
    """

    model_config = ConfigDict(frozen=True)

    value: float | None
    interval: Interval | None


class Agreement(BaseModel):
    """How far two reviewers agree about the records that both decided.

    Attributes:
        reviewers: Their names.
        verdicts: The same of accept, edit and reject.
        kappa: The same beyond chance.
        choices: The same letter, where both chose one blindly.
        choices_kappa: The same beyond chance.
    """

    model_config = ConfigDict(frozen=True)

    reviewers: tuple[str, str]
    verdicts: Share
    kappa: Kappa
    choices: Share
    choices_kappa: Kappa


class Reviewer(BaseModel):
    """What one person did.

    Attributes:
        name: The name.
        decided: How often they decided what.
        right: How often they chose the key blindly, of their choices.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    decided: dict[str, int]
    right: Share


class Summary(BaseModel):
    """What a review came to.

    Attributes:
        records: Number of records.
        states: How many are open, agreed, disputed and settled.
        outcomes: How many are accepted, edited and rejected, by agreement or adjudication.
        accepted: Accepted or edited, of those decided.
        reasons: Why records are rejected.
        reviewers: What each reviewer did.
        agreement: How far each pair of reviewers agrees.
    """

    model_config = ConfigDict(frozen=True)

    records: int
    states: dict[str, int]
    outcomes: dict[str, int]
    accepted: Share
    reasons: dict[str, int]
    reviewers: tuple[Reviewer, ...]
    agreement: tuple[Agreement, ...]


def summarise(records: Sequence[Record], settings: Settings, standings: Standings) -> Summary:
    """Sums a review up."""
    found = [standings.of(record.id) for record in records]
    states = Counter(str(one.state) for one in found)
    decisions = [one.decision for one in found if one.decision]
    outcomes = Counter(str(decision.action) for decision in decisions)
    people = [*settings.reviewers, *([settings.adjudicator] if settings.adjudicator else [])]
    return Summary(
        records=len(records),
        states={name: states[name] for name in ("open", "agreed", "disputed", "settled")},
        outcomes={name: outcomes[name] for name in VERDICTS},
        accepted=_share(outcomes["accept"] + outcomes["edit"], len(decisions)),
        reasons=dict(sorted(Counter(str(d.reason) for d in decisions if d.reason).items())),
        reviewers=tuple(_reviewer(name, records, standings) for name in people),
        agreement=tuple(
            _agreement(pair, records, standings) for pair in combinations(settings.reviewers, 2)
        ),
    )


def lines(summary: Summary) -> Iterator[str]:
    """Returns a summary in words."""
    out, states = summary.outcomes, summary.states
    yield (
        f"{summary.records} records: {out['accept']} accepted, {out['edit']} edited, "
        f"{out['reject']} rejected, {states['open']} open, {states['disputed']} disputed"
    )
    yield f"accepted or edited of those decided: {_said(summary.accepted)}"
    if summary.reasons:
        yield "rejected for: " + ", ".join(f"{name} {n}" for name, n in summary.reasons.items())
    for one in summary.reviewers:
        did = ", ".join(f"{name} {count}" for name, count in one.decided.items()) or "nothing yet"
        chose = f"; chose the key: {_said(one.right)}" if one.right.of else ""
        yield f"{one.name}: {did}{chose}"
    for pair in summary.agreement:
        if pair.verdicts.of:
            yield (
                f"{' and '.join(pair.reviewers)}: same verdict {_said(pair.verdicts)}, "
                f"{_kappa_said(pair.kappa, pair.verdicts)}"
            )
        if pair.choices.of:
            yield (
                f"{' and '.join(pair.reviewers)}: same choice {_said(pair.choices)}, "
                f"{_kappa_said(pair.choices_kappa, pair.choices)}"
            )


def _reviewer(name: str, records: Sequence[Record], standings: Standings) -> Reviewer:
    sheets = [(record, standings.sheet(name, record.id)) for record in records]
    chosen = [(sheet.choice.choice, record.answer) for record, sheet in sheets if sheet.choice]
    return Reviewer(
        name=name,
        decided=dict(sorted(Counter(str(s.final.action) for _, s in sheets if s.final).items())),
        right=_share(sum(choice == answer for choice, answer in chosen), len(chosen)),
    )


def _agreement(pair: tuple[str, str], records: Sequence[Record], standings: Standings) -> Agreement:
    verdicts, choices = [], []
    for record in records:
        sheets = [standings.sheet(name, record.id) for name in pair]
        actions = [_verdict(sheet.final) for sheet in sheets]
        letters = [sheet.choice.choice if sheet.choice else None for sheet in sheets]
        if None not in actions:
            verdicts.append(actions)
        if None not in letters:
            choices.append(letters)
    return Agreement(
        reviewers=pair,
        verdicts=_same(verdicts),
        kappa=_kappa(verdicts, VERDICTS),
        choices=_same(choices),
        choices_kappa=_kappa(choices, "ABCD"),
    )


def _verdict(decision: Decision | None) -> str | None:
    return decision.action if decision and decision.action in VERDICTS else None


def _same(rows: Sequence[Sequence[object]]) -> Share:
    return _share(sum(one == two for one, two in rows), len(rows))


def _kappa(rows: Sequence[Sequence[object]], categories: Sequence[str]) -> Kappa:
    if len(rows) < FEWEST:
        return Kappa(value=None, interval=None)
    found = estimate(cohen(coded(rows, categories), len(categories)), seed=SEED)
    return Kappa(value=found.value, interval=found.interval)


def _share(count: int, of: int) -> Share:
    if not of:
        return Share(count=0, of=0, share=None, interval=None)
    return Share(count=count, of=of, share=count / of, interval=wilson(count, of))


def _said(share: Share) -> str:
    if share.share is None or share.interval is None:
        return "none yet"
    low, high = share.interval
    return f"{share.count} of {share.of} ({share.share:.1%}, {low:.1%} to {high:.1%})"


def _kappa_said(kappa: Kappa, same: Share) -> str:
    if same.of < FEWEST:
        return f"kappa – (fewer than {FEWEST} records)"
    if kappa.value is None or kappa.interval is None:
        return "kappa is not defined: everybody said the same"
    return f"kappa {kappa.value:.2f} ({kappa.interval.low:.2f} to {kappa.interval.high:.2f})"
