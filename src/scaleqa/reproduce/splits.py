"""Figures by split: constants are fitted on one, so the other is the main figure."""

from collections.abc import Mapping, Sequence
from typing import Any

from scaleqa.evaluate import Row
from scaleqa.figures.presence import silent
from scaleqa.figures.relevance import relevance
from scaleqa.figures.retrieval import Retrieval, against, retrieval
from scaleqa.pages.forms import count, signed
from scaleqa.pages.table import Column, interval

FITTED, HELD_OUT = "s1", "s2"
SPLITS = (
    f"The main figure is that of split {HELD_OUT}; {FITTED}, on which our constants are chosen "
    "(docs/method.md names the exceptions), is beside it."
)
SHARES = (
    Column(key="in_context", head=HELD_OUT),
    interval("interval"),
    Column(key=FITTED, head=FITTED),
    Column(key="all", head="all"),
    Column(key="context_tokens", head="context tokens", form=count),
)
DIFFERENCE = (
    Column(key="difference", head="ours less this", form=signed),
    interval("difference_interval"),
    Column(key="mcnemar_p", head="McNemar p", form=lambda value: f"{value:.1g}"),
)


def beside(key: str, head: str) -> Column:
    """A column with the figure of the fitted split in brackets."""
    return Column(
        key=key,
        head=f"{head}, {HELD_OUT} ({FITTED})",
        below=(Column(key=f"{key} {FITTED}", head=FITTED),),
    )


# About questions whose matter never came up, and about relevances.
ABSENCE = (
    beside("silent", "silent"),
    interval("silent_interval"),
    beside("auroc", "AUROC"),
    beside("error", "calibration error"),
)


def of_split(rows: Sequence[Row], split: str | None) -> Retrieval | None:
    """Returns the figures of a split, of all for None; None if nothing of it can be retrieved."""
    own = [row for row in rows if split in (None, row.split)]
    return retrieval(own) if any(row.present for row in own) else None


def shares(rows: Sequence[Row]) -> dict[str, Any]:
    """Returns the share of questions with all evidence in context and the tokens, by column."""
    held, fitted, every = (of_split(rows, split) for split in (HELD_OUT, FITTED, None))
    return {
        "in_context": held.in_context.value if held else None,
        "interval": held.in_context.interval if held else None,
        FITTED: fitted.in_context.value if fitted else None,
        "all": every.in_context.value if every else None,
        "context_tokens": held.context_tokens if held else None,
    }


def absences(rows: Sequence[Row]) -> dict[str, Any]:
    """Returns what is known of absent matters and relevances, by column."""
    found: dict[str, Any] = {}
    for split, suffix in ((HELD_OUT, ""), (FITTED, f" {FITTED}")):
        own = [row for row in rows if row.split == split]
        quiet, worth = silent(own), relevance(own)
        if quiet:
            found[f"silent{suffix}"] = quiet.value
        if quiet and not suffix:
            found["silent_interval"] = quiet.interval
        if worth:
            found[f"error{suffix}"] = worth.calibration_error
            found[f"auroc{suffix}"] = worth.auroc
    return found


def difference(rows: Sequence[Row], ours: Sequence[Row]) -> Mapping[str, Any]:
    """Returns ours less these, paired by question of the held-out split, by column."""
    first, second = ([row for row in some if row.split == HELD_OUT] for some in (ours, rows))
    if rows is ours or not any(row.present for row in first):
        return {}
    compared = against(first, second)
    return {
        "difference": compared.difference.difference,
        "difference_interval": compared.difference.interval,
        "mcnemar_p": compared.mcnemar_p,
    }
