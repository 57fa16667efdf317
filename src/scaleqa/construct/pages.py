"""The funnel and the comparison of two constructions, as tables."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from scaleqa import paper
from scaleqa.construct.funnel import Funnel, Share
from scaleqa.construct.plan import Plan
from scaleqa.pages.forms import count, percent, percent_span, points_span, signed, text
from scaleqa.pages.page import Notes, Page, Paragraph, Section
from scaleqa.pages.table import Column, Table, interval, listing

SHARES = (
    ("accepted", "passed every filter, of items that ended"),
    ("liked", "accepted as first read, of items that were read"),
    ("first_open", "open book, right at the first reading"),
    ("open", "open book, right at the last reading"),
    ("first_closed", "closed book, right at the first reading"),
    ("closed", "closed book, right at the last reading"),
)
PAPER = {
    "accepted": paper.CONSTRUCTION.lines["machine"],
    "liked": paper.CONSTRUCTION.lines["human"],
}
NOTES = (
    "The paper's machine filters include readings by models, as ours do; its reviewers were "
    "people, and reviewed what the filters had left. Its candidates were not mended and read "
    "again, ours are: an item counts once, however often it was mended.",
)


def stages_table(funnel: Funnel) -> Table:
    """The steps, and how many items each kept."""
    rows = [
        {
            "step": stage.step,
            "reached": stage.reached,
            "passed": stage.passed,
            "repeated": stage.repeated,
            "dropped": stage.dropped,
            "why": ", ".join(f"{code} {n}" for code, n in stage.why.items()) or "–",
        }
        for stage in funnel.stages
    ]
    columns = (
        Column(key="step", head="step", form=text),
        Column(key="reached", head="items", form=count),
        Column(key="passed", head="passed", form=count),
        Column(key="repeated", head="tried or mended again", form=count),
        Column(key="dropped", head="dropped", form=count),
        Column(key="why", head="reasons", form=text),
    )
    return Table(columns=columns, rows=tuple(rows))


def shares_table(funnel: Funnel) -> Table:
    """Acceptance and accuracy, beside the paper's."""
    rows = [
        {
            "what": what,
            "number": f"{share.right} of {share.of}",
            "share": share.value,
            "interval": share.interval,
            "paper": PAPER.get(key),
        }
        for key, what in SHARES
        if (share := _share(funnel, key)).of
    ]
    columns = (
        Column(key="what", head="", form=text),
        Column(key="number", head="items", form=text),
        Column(key="share", head="share", form=percent),
        interval("interval", form=percent_span),
        Column(key="paper", head="paper", form=percent),
    )
    return Table(columns=columns, rows=tuple(rows))


def spent_table(funnel: Funnel) -> Table:
    """What was spent."""
    known = funnel.spent
    rows = [
        {"what": "requests", "value": f"{known.calls:,}"},
        {"what": "of these in doubt", "value": f"{known.in_doubt:,}"},
        {"what": "tokens", "value": f"{known.tokens:,}"},
        {"what": "dollars", "value": f"{known.dollars:.4f}"},
    ]
    return listing(rows, "spent", "")


def funnel_page(plan: Plan, funnel: Funnel) -> Page:
    """The funnel as a page."""
    about = (
        f"{funnel.begun} items begun, {funnel.released} released, {funnel.dropped} dropped. "
        f"Track {plan.track}, order {plan.order}; writer {plan.models.writer}, reader "
        f"{plan.models.reader}; {', '.join(f'{d.name} {d.count}' for d in plan.domains)}."
    )
    return Page(
        title="Funnel of construction",
        introduction=(Paragraph(text=about),),
        sections=(
            Section(
                title="",
                blocks=(
                    shares_table(funnel),
                    stages_table(funnel),
                    spent_table(funnel),
                    Notes(items=NOTES),
                ),
            ),
        ),
    )


def compared(names: Sequence[str], funnels: Sequence[Funnel]) -> Table:
    """Two constructions side by side, with the interval of each difference."""
    rows: list[dict[str, Any]] = []
    for key, what in SHARES:
        one, two = (_share(funnel, key) for funnel in funnels)
        if one.of or two.of:
            rows.append(
                {
                    "what": what,
                    "one": one.value,
                    "one_interval": one.interval,
                    "two": two.value,
                    "two_interval": two.interval,
                    "difference": _difference(one, two),
                    "difference_interval": difference_interval(one, two),
                    "paper": PAPER.get(key),
                }
            )
    columns = (
        Column(key="what", head="", form=text),
        Column(key="one", head=names[0], form=percent),
        interval("one_interval", form=percent_span),
        Column(key="two", head=names[1], form=percent),
        interval("two_interval", form=percent_span),
        Column(key="difference", head="difference", form=signed),
        interval("difference_interval", form=points_span),
        Column(key="paper", head="paper", form=percent),
    )
    return Table(columns=columns, rows=tuple(rows))


def difference_interval(one: Share, two: Share) -> tuple[float, float] | None:
    """Returns Newcombe's 95 % interval of the difference of two independent shares."""
    if not one.of or not two.of:
        return None
    a, b = one.right / one.of, two.right / two.of
    (low_a, high_a), (low_b, high_b) = one.interval or (0, 1), two.interval or (0, 1)
    low = a - b - ((a - low_a) ** 2 + (high_b - b) ** 2) ** 0.5
    high = a - b + ((high_a - a) ** 2 + (b - low_b) ** 2) ** 0.5
    return low, high


def funnel_json(funnel: Funnel) -> dict[str, Any]:
    """The funnel as data."""
    shares = {
        key: {"right": s.right, "of": s.of, "share": s.value, "interval": s.interval}
        for key, _ in SHARES
        if (s := _share(funnel, key))
    }
    return {**asdict(funnel), **shares, "paper": PAPER}


def _share(funnel: Funnel, key: str) -> Share:
    found: Share = getattr(funnel, key)
    return found


def _difference(one: Share, two: Share) -> float | None:
    return one.right / one.of - two.right / two.of if one.of and two.of else None
