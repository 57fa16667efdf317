"""Hits and episodes as HTML for notebooks: harmless whatever was said, in any colours.

Nothing is coloured: text and lines have the colours of the page around them, dark or light.
"""

from collections.abc import Iterable
from html import escape
from itertools import islice

from tsim.characters import visible

# Characters of a text, and cards, that are shown; a notebook keeps all that it shows.
LONGEST, MOST = 1500, 20
CARD = "border-left:3px solid;padding:.1em .8em;margin:.5em 0;max-width:60em;text-align:left"
HEAD = "opacity:.7;font-size:85%"
LINE = "white-space:pre-wrap;overflow-wrap:anywhere"


def card(head: str, said: Iterable[tuple[str, str]], why: str = "") -> str:
    """Returns what was said, under a heading.

    Args:
        head: The heading.
        said: Speakers and texts.
        why: An explanation, shown on demand.
    """
    lines = "".join(
        f'<div style="{LINE}"><b>{_safe(role)}</b>: {_safe(text)}</div>' for role, text in said
    )
    more = f'<details style="{HEAD}"><summary>why</summary>{_safe(why)}</details>' if why else ""
    return f'<div style="{CARD}"><div style="{HEAD}">{_safe(head)}</div>{lines}{more}</div>'


def cards(some: Iterable[str], what: str, count: int) -> str:
    """Returns the first of some cards, and how many there are."""
    rest = f", the first {MOST}" if count > MOST else ""
    shown = "".join(islice(some, MOST))
    return f'<div><div style="{HEAD}">{count} {_safe(what)}{rest}</div>{shown}</div>'


def _safe(text: str) -> str:
    return escape(visible(text[:LONGEST]) + ("…" if len(text) > LONGEST else ""))
