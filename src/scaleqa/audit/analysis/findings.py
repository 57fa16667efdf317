"""Everything that an audit found, before it is written down."""

from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.audit.analysis.agreeing import Agreement, agreements
from scaleqa.audit.analysis.answers import (
    Majority,
    Pair,
    accuracy,
    largest_share,
    majorities,
    pairs,
)
from scaleqa.audit.analysis.cues import Distribution, distribution
from scaleqa.audit.analysis.quality import Quality, quality
from scaleqa.audit.analysis.realism import (
    Beside,
    Points,
    beside_others,
    grouped,
    points,
    rater_means,
)
from scaleqa.audit.items import Plan
from scaleqa.audit.judgements import Judgement, Sheet
from scaleqa.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterFigures:
    """One rater, over our items with options: right answers, largest option, means by scale."""

    rater: int
    right: int
    answered: int
    largest: float | None
    means: dict[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All figures of an audit.

    The figures that the paper has too are about our items with question and options (`own`).

    Attributes:
        plan: What was to be rated.
        left_out: Raters whose judgements were left out, because it was asked for.
        sheet: All judgements of audited items.
        own: Those of our items with question and options.
        overall: All scales.
        raters: By rater.
        majority: Majorities and the data set's answers.
        pairs: By pair of raters.
        agreements: By question.
        cues: Stress cues.
        topics: Scales by domain.
        groups: Scales by form and source, over all audited items.
        beside: Ours beside each other source in the same form.
        quality: How carefully raters worked.
    """

    plan: Plan
    left_out: tuple[int, ...]
    sheet: Sheet
    own: Sheet
    overall: list[Points]
    raters: list[RaterFigures]
    majority: Majority
    pairs: list[Pair]
    agreements: list[Agreement]
    cues: Distribution
    topics: dict[str, dict[str, Points]]
    groups: dict[str, dict[str, Points]]
    beside: list[Beside]
    quality: list[Quality]


def find(
    plan: Plan, judgements: Sequence[Judgement], *, without: Sequence[int] = (), seed: int = 0
) -> Findings:
    """Computes all figures.

    Args:
        plan: The plan of the audit.
        judgements: The last word of every rater on every item.
        without: Raters to leave out; how carefully they worked is shown all the same.
        seed: Of the bootstrap intervals.

    Raises:
        DataError: Nothing was rated, everybody who rated is left out, or a rater to leave out does
            not exist.
    """
    unknown = [rater for rater in without if not 1 <= rater <= len(plan.orders)]
    if unknown:
        raise DataError(
            f"there is no rater {unknown[0]}; the plan has raters 1 to {len(plan.orders)}"
        )
    everybody = Sheet.of(judgements)
    kept = [one for one in judgements if one.rater not in without]
    audited = Sheet.of(one for one in kept if one.item.purpose == "audit")
    if not audited.items and any(one.item.purpose == "audit" for one in judgements):
        raise DataError(
            "all audited items were rated by raters who are left out "
            f"({', '.join(map(str, sorted({*without})))}); keep at least one of them"
        )
    if not audited.items:
        raise DataError(
            "no audited item was rated yet; invite raters with: scaleqa audit invite, and serve "
            "the pages with: scaleqa audit serve"
        )
    ours = plan.sources[0].source
    own = audited.only(
        item for item in audited.items if item.form == "choice" and item.origin.source == ours
    )
    return Findings(
        plan=plan,
        left_out=tuple(sorted({*without})),
        sheet=audited,
        own=own,
        overall=points(own, seed=seed),
        raters=[_rater(own, rater) for rater in own.raters],
        majority=majorities(own),
        pairs=pairs(own, seed=seed),
        agreements=agreements(own, seed=seed),
        cues=distribution(own),
        topics=grouped(own, lambda item: item.origin.domain, seed=seed),
        groups=grouped(audited, lambda item: f"{item.form} {item.origin.source}", seed=seed),
        beside=beside_others(audited, ours, seed=seed),
        quality=[quality(everybody, plan, rater) for rater in everybody.raters],
    )


def _rater(own: Sheet, rater: int) -> RaterFigures:
    right, answered = accuracy(own, rater)
    return RaterFigures(
        rater=rater,
        right=right,
        answered=answered,
        largest=largest_share(own, rater),
        means=rater_means(own, rater),
    )
