"""The options that raters choose: against the data set's answer, and against each other."""

from collections import Counter
from dataclasses import dataclass

from scaleqa.audit.analysis.voting import FEWEST, is_majority
from scaleqa.audit.items import CUES, Item
from scaleqa.audit.judgements import Sheet
from scaleqa.records.schema import LETTERS
from scaleqa.stats import agreement
from scaleqa.stats.agreement import Estimate, coded, estimate, pairs_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An item whose raters do not settle on the data set's answer.

    Attributes:
        item: The item.
        chosen: Options by rater.
        majority: The option that more than half chose, if any.
    """

    item: Item
    chosen: dict[int, str]
    majority: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Majority:
    """Majorities among the raters of each item.

    Attributes:
        items: Items with options that were rated.
        single: Those with one rating only, which is no majority.
        valid: Those of which more than half of at least two raters chose one option.
        right: Those of them in which it is the data set's answer.
        none: Items of several raters without a majority.
        wrong: Items whose majority is for another option.
    """

    items: int
    single: int
    valid: int
    right: int
    none: list[Case]
    wrong: list[Case]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two raters, over the items that both rated.

    Attributes:
        raters: Their numbers.
        items: How many items both rated.
        answers: Share of items of which they chose the same option.
        kappa: Cohen's kappa of these choices.
        primary: Share of items with the same primary cue.
        cues: Share of items of which both or neither see each cue.
        agreed: Items of which they chose the same option, and those of them where it is right.
    """

    raters: tuple[int, int]
    items: int
    answers: Estimate
    kappa: Estimate
    primary: Estimate
    cues: dict[str, Estimate]
    agreed: tuple[int, int]


def majorities(sheet: Sheet) -> Majority:
    """Finds the majority of each item with options."""
    none: list[Case] = []
    wrong: list[Case] = []
    rated = single = valid = 0
    for item in sheet.items:
        chosen = {o.rater: o.values.answer for o in sheet.about(item) if o.values.answer}
        if not chosen:
            continue
        rated += 1
        if len(chosen) < FEWEST:
            single += 1
            continue
        letter, votes = Counter(chosen.values()).most_common(1)[0]
        if not is_majority(votes, len(chosen)):
            none.append(Case(item=item, chosen={**chosen}, majority=None))
            continue
        valid += 1
        if letter != item.answer:
            wrong.append(Case(item=item, chosen={**chosen}, majority=letter))
    return Majority(
        items=rated,
        single=single,
        valid=valid,
        right=valid - len(wrong),
        none=none,
        wrong=wrong,
    )


def accuracy(sheet: Sheet, rater: int) -> tuple[int, int]:
    """How many options of a rater are the data set's answers, and of how many."""
    chosen = [one for one in sheet.by(rater) if one.values.answer]
    return sum(one.values.answer == one.item.answer for one in chosen), len(chosen)


def largest_share(sheet: Sheet, rater: int) -> float | None:
    """The share of the option that a rater chose most often."""
    chosen = Counter(one.values.answer for one in sheet.by(rater) if one.values.answer)
    return max(chosen.values()) / chosen.total() if chosen else None


def pairs(sheet: Sheet, *, seed: int) -> list[Pair]:
    """Compares every pair of raters who rated some of the same items with options."""
    found = []
    for first, second in pairs_of(len(sheet.raters)):
        raters = (sheet.raters[first], sheet.raters[second])
        chosen = sheet.answers(raters)
        both = [
            (row[0], item.answer)
            for row, item in zip(chosen, sheet.items, strict=True)
            if row[0] is not None and row[0] == row[1]
        ]
        codes = coded(chosen, LETTERS)
        count = sum(None not in row for row in chosen)
        if not count:
            continue
        primaries = coded(sheet.primaries(raters), (*CUES, "none"))
        found.append(
            Pair(
                raters=raters,
                items=count,
                answers=estimate(agreement.percent(codes, len(LETTERS)), seed=seed),
                kappa=estimate(agreement.cohen(codes, len(LETTERS)), seed=seed),
                primary=estimate(agreement.percent(primaries, len(CUES) + 1), seed=seed),
                cues={
                    cue: estimate(
                        agreement.percent(coded(sheet.sees(cue, raters), (False, True)), 2),
                        seed=seed,
                    )
                    for cue in CUES
                },
                agreed=(sum(letter == answer for letter, answer in both), len(both)),
            )
        )
    return found
