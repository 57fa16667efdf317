"""The page about cuts: how far rules are from where people saw a new topic."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from scaleqa.pages.forms import fine, text
from scaleqa.pages.page import Page, Paragraph
from scaleqa.pages.table import Column, Table
from scaleqa.report.retrieval import generated
from scaleqa.report.retrieved import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """What a rule did to chats that people have cut.

    Attributes:
        rule: Its name.
        threshold: The threshold it was run with, where it has one.
        pk: Mean Pk over chats.
        window_diff: Mean WindowDiff over chats.
        f1: F1 of exact cuts over all chats.
        cuts: Mean cuts per chat.
    """

    rule: str
    threshold: float | None
    pk: float
    window_diff: float
    f1: float
    cuts: float


def cuts_page(found: Sequence[Cuts], window: int, run: Run) -> Page:
    """Lays out what rules did to chats that people have cut.

    Args:
        found: Rule by rule.
        window: Gaps that Pk and WindowDiff look through.
        run: What was run.
    """
    about = (
        f"Pk and WindowDiff look through windows of {window} gaps, half the mean segment, and are "
        "means over the test chats: lower is better. F1 counts cuts at exactly the right gap. "
        "Thresholds are tuned for Pk on the dev chats."
    )
    return generated(run, [Paragraph(text=about)], [cuts_table(found)])


def cuts_table(found: Sequence[Cuts]) -> Table:
    """The figures of each rule."""
    columns = (
        Column(key="rule", head="rule", form=text),
        Column(key="threshold", head="threshold", form=lambda value: f"{value:g}"),
        Column(key="pk", head="Pk"),
        Column(key="window_diff", head="WindowDiff"),
        Column(key="f1", head="F1"),
        Column(key="cuts", head="cuts per chat", form=fine),
    )
    return Table(columns=columns, rows=tuple(asdict(one) for one in found))
