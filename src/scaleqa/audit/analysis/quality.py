"""How carefully raters work: known answers, attention, time, and patterns in what they say."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median

from scaleqa.audit.items import SCALES, Plan
from scaleqa.audit.judgements import Judgement, Sheet

# Words per second that nobody reads, let alone judges.
FASTEST = 12.0
# Items in a row, or a share of items, with the same points on all scales.
SAME_IN_A_ROW = 12
SAME_SHARE = 0.9
LEAST_GOLD = 0.8
# With fewer items, patterns mean nothing.
LEAST_ITEMS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """One rater.

    Attributes:
        rater: Their number.
        rated: Items they rated.
        assigned: Items they were given.
        gold: Gold items that they answered correctly, and how many they answered.
        attention: Attention items that they answered as told, and how many they answered.
        seconds: Median time per item.
        timed: How many items have a time.
        hurried: Items that were rated faster than they can be read.
        same: The largest share of items with the same points on all scales.
        run: The most items in a row with the same points on all scales.
        remarks: What to look at before these ratings are used.
    """

    rater: int
    rated: int
    assigned: int
    gold: tuple[int, int]
    attention: tuple[int, int]
    seconds: float | None
    timed: int
    hurried: int
    same: float | None
    run: int
    remarks: tuple[str, ...]


def quality(sheet: Sheet, plan: Plan, rater: int) -> Quality:
    """Looks at all judgements of a rater; nothing is left out because of it."""
    order = plan.orders[rater - 1]
    said = {one.item.id: one for one in sheet.by(rater)}
    judged = [said[name] for name in order if name in said]
    times = [one.seconds for one in judged if one.seconds is not None]
    hurried = sum(one.seconds is not None and _hurried(one, one.seconds) for one in judged)
    patterns = [_pattern(one) for one in judged if one.item.form != "chat"]
    common = Counter(patterns).most_common(1)
    found = Quality(
        rater=rater,
        rated=len(judged),
        assigned=len(order),
        gold=_as_known(judged, "gold"),
        attention=_as_known(judged, "attention"),
        seconds=median(times) if times else None,
        timed=len(times),
        hurried=hurried,
        same=common[0][1] / len(patterns) if common else None,
        run=max((len([*some]) for _, some in groupby(patterns)), default=0),
        remarks=(),
    )
    return _remarked(found, len(patterns))


def _remarked(found: Quality, patterns: int) -> Quality:
    right, gold = found.gold
    passed, checks = found.attention
    long = patterns >= LEAST_ITEMS
    remarks = (
        (gold and right < LEAST_GOLD * gold, f"only {right} of {gold} gold items are right"),
        (passed < checks, f"{checks - passed} of {checks} attention items were not followed"),
        (found.hurried, f"{found.hurried} items were rated faster than they can be read"),
        (long and found.run >= SAME_IN_A_ROW, f"{found.run} items in a row have the same points"),
        (
            long and found.same is not None and found.same >= SAME_SHARE,
            f"{found.same or 0:.0%} of items have the same points",
        ),
    )

    return replace(found, remarks=tuple(text for holds, text in remarks if holds))


def _as_known(judged: list[Judgement], purpose: str) -> tuple[int, int]:
    own = [one for one in judged if one.item.purpose == purpose and one.item.known]
    return sum(_follows(one) for one in own), len(own)


def _follows(judgement: Judgement) -> bool:
    known = judgement.item.known
    if known is None:
        return False
    natural = judgement.values.scales.get("naturalness")
    return judgement.values.answer == known.answer and known.naturalness in (None, natural)


def _hurried(judgement: Judgement, seconds: float) -> bool:
    shown = judgement.item.shown
    texts = [*(turn.text for turn in shown.dialogue), shown.question or "", *shown.options]
    return sum(len(text.split()) for text in texts) > FASTEST * seconds


def _pattern(judgement: Judgement) -> tuple[int | None, ...]:
    points = {str(name): value for name, value in judgement.values.scales.items()}
    return tuple(points.get(scale) for scale in SCALES)
