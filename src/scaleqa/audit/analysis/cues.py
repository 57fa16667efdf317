"""The stress cues that raters see: how many items have which, and which is the strongest."""

from collections import Counter
from dataclasses import dataclass

from scaleqa.audit.analysis.voting import FEWEST, is_majority
from scaleqa.audit.items import CUES
from scaleqa.audit.judgements import Sheet

ADJUDICATION = "needs_adjudication"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How stress cues are distributed over items.

    An item has a cue if more than half of its raters see it; its primary cue is the one that more
    than half of them name. Items with one rating only are counted apart.

    Attributes:
        items: Items of which at least two raters were asked.
        single: Items with one rating only, which are in no other figure.
        cues: Items with each cue.
        several: Items with at least two cues.
        all: Items with all cues.
        anybody: Items of which at least one rater sees each cue.
        primary: Items by primary cue; those without a majority need adjudication.
        as_labelled: Items whose primary cue is the primary label of the data set.
        labelled: How many have a primary cue and a label.
    """

    items: int
    single: int
    cues: dict[str, int]
    several: int
    all: int
    anybody: dict[str, int]
    primary: dict[str, int]
    as_labelled: int
    labelled: int


def distribution(sheet: Sheet) -> Distribution:
    """Counts stress cues over the items of a table."""
    seen: Counter[str] = Counter()
    anybody: Counter[str] = Counter()
    primary: Counter[str] = Counter()
    items = single = several = everything = labelled = as_labelled = 0
    for item in sheet.items:
        said = [one.values for one in sheet.about(item) if one.values.primary]
        if not said:
            continue
        if len(said) < FEWEST:
            single += 1
            continue
        items += 1
        votes = Counter(cue for values in said for cue in values.cues)
        here = [cue for cue in CUES if is_majority(votes[cue], len(said))]
        seen.update(here)
        anybody.update(cue for cue in CUES if votes[cue])
        several += len(here) > 1
        everything += len(here) == len(CUES)
        strongest, count = Counter(values.primary for values in said).most_common(1)[0]
        settled = is_majority(count, len(said))
        primary[strongest or ADJUDICATION if settled else ADJUDICATION] += 1
        if settled and item.origin.stress:
            labelled += 1
            as_labelled += strongest == item.origin.stress[0]
    return Distribution(
        items=items,
        single=single,
        cues={cue: seen[cue] for cue in CUES},
        several=several,
        all=everything,
        anybody={cue: anybody[cue] for cue in CUES},
        primary={name: primary[name] for name in (*CUES, "none", ADJUDICATION)},
        as_labelled=as_labelled,
        labelled=labelled,
    )
