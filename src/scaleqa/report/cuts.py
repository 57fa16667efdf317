"""The page about cuts: how far rules are from where people saw a new topic."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from scaleqa.evaluate.cuts import Segmented
from scaleqa.pages.forms import fine, text
from scaleqa.pages.page import Block, Page, Paragraph
from scaleqa.pages.table import Column, Table
from scaleqa.report.retrieval import generated


def cuts_page(
    found: Sequence[Segmented], window: int, hashes: Mapping[str, str], command: str, embedder: str
) -> Page:
    """Lays out what rules did to chats that people have cut.

    Args:
        found: Rule by rule.
        window: Gaps that Pk and WindowDiff look through.
        hashes: The sha256 of each file that was read.
        command: How a user gets the same page.
        embedder: Identity of the embedder.
    """
    about = (
        f"Pk and WindowDiff look through windows of {window} gaps, half the mean segment, and are "
        "means over the test chats: lower is better. F1 counts cuts at exactly the right gap. "
        "Thresholds are tuned for Pk on the dev chats."
    )
    facts = [("Embedder", embedder), *((name, f"sha256 {value}") for name, value in hashes.items())]
    blocks: list[Block] = [Paragraph(text=about), cuts_table(found)]
    return generated("TIAGE", command, facts=facts, blocks=blocks)


def cuts_table(found: Sequence[Segmented]) -> Table:
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
